"""The host driver's p2p test under settings that only another user or a sysctl gives:
usage: host_user_test.py DRIVER_TEST"""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest

TEST = 'a p2p test between processes'
NOBODY = 65534
SYSCTL = '/proc/sys/vm/memfd_noexec'


def run(command, **user):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=120, cwd='/', **user)
    return done.returncode, done.stdout


@unittest.skipIf(os.geteuid() != 0, 'needs root: the test changes its user and a sysctl')
class HostUserTest(unittest.TestCase):

    def test_a_user_who_may_execute_the_program_but_not_read_it(self):
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o755)
            program = os.path.join(folder, 'driver_test')
            shutil.copyfile(DRIVER_TEST, program)
            os.chmod(program, 0o711)
            nobody = {'user': NOBODY, 'group': NOBODY, 'extra_groups': []}
            status, _ = run(['cat', program], **nobody)
            self.assertNotEqual(status, 0, 'the user can read the program')
            status, output = run([program, TEST], **nobody)
            self.assertEqual(status, 0, output)

    def test_a_system_where_memory_files_cannot_be_executed(self):
        if not os.path.exists(SYSCTL):
            self.skipTest(f'this kernel has no {SYSCTL}')
        # The setting belongs to the process namespace, so the machine's own stays as it is.
        namespace = ['unshare', '--pid', '--fork', '--mount-proc']
        status, output = run([*namespace, 'test', '-w', SYSCTL])
        if status != 0:
            self.skipTest(f'cannot make a process namespace: {output}')
        for value in '1', '2':
            with self.subTest(memfd_noexec=value):
                status, output = run([*namespace, 'sh', '-c',
                                      f'echo {value} > {SYSCTL} && exec "$0" "$1"',
                                      DRIVER_TEST, TEST])
                self.assertEqual(status, 0, output)


if __name__ == '__main__':
    DRIVER_TEST = os.path.abspath(sys.argv.pop(1))
    unittest.main()
