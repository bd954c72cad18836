"""`assay watch jobs`: job signals on a terminal and as JSON lines."""
import fcntl
import json
import os
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '../support'))
from harness import BINARY, Bench, until

FIELDS = [
    'uuid',
    'jobId',
    'jobName',
    'namespace',
    'frameWork',
    'jobStatus',
    'time',
    'cmIndex',
    'total',
    'HcclJson',
    'deleteTime',
    'sharedTorIp',
    'masterAddr',
    'operator',
    'sid',
]


class Lines:
    """The command in a pipe; records its output."""

    def __init__(self, test, *args):
        self.child = subprocess.Popen(
            [BINARY, 'watch', 'jobs', *args],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.signals, self.said = [], []
        self.threads = [
            threading.Thread(target=self._read, args=args, daemon=True)
            for args in (
                (self.child.stdout, lambda line: self.signals.append(json.loads(line))),
                (self.child.stderr, lambda line: self.said.append(line.decode())),
            )
        ]
        for thread in self.threads:
            thread.start()
        test.addCleanup(self.stop)

    @staticmethod
    def _read(pipe, take):
        for line in pipe:
            take(line)
        pipe.close()

    def stop(self):
        if self.child.poll() is None:
            self.child.kill()
        self.child.wait()
        for thread in self.threads:
            thread.join()

    def states(self, job):
        return [
            s['jobStatus'] if s['operator'] == 'add' else 'deleted'
            for s in self.signals
            if s['jobId'] == job
        ]


class Terminal:
    """The command on its own pseudo-terminal."""

    def __init__(self, test, *args, rows=24, columns=80):
        self.master, self.slave = pty.openpty()
        self.resize(rows, columns)
        self.modes = termios.tcgetattr(self.slave)
        self.child = subprocess.Popen(
            [BINARY, 'watch', 'jobs', *args],
            stdin=self.slave,
            stdout=self.slave,
            stderr=subprocess.PIPE,
            env={**os.environ, 'TERM': 'xterm'},
            start_new_session=True,
        )
        self.output = b''
        test.addCleanup(self.stop)

    def stop(self):
        if self.child.poll() is None:
            self.child.kill()
        self.child.wait()
        self.child.stderr.close()
        os.close(self.master)
        os.close(self.slave)

    def resize(self, rows, columns):
        size = struct.pack('HHHH', rows, columns, 0, 0)
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, size)

    def read(self):
        while select.select([self.master], [], [], 0.02)[0]:
            self.output += os.read(self.master, 65536)
        return self.output

    def page(self):
        """The last complete page, as lines without escape sequences."""
        pages = self.read().split(b'\x1b[H')
        whole = [page for page in pages[1:] if b'\x1b[J' in page]
        if not whole:
            return []
        text = whole[-1].split(b'\x1b[J')[0].decode()
        return [
            re.sub(r'\x1b\[[0-9;]*[A-Za-z]', '', line).rstrip('\r') for line in text.split('\n')
        ]

    def shows(self, *texts):
        until(texts, lambda: all(any(text in line for line in self.page()) for text in texts))

    def ended(self, status):
        until('the end', lambda: self.read() is not None and self.child.poll() is not None)
        assert self.child.returncode == status, self.child.returncode

    def is_restored(self):
        output = self.read()
        return (
            output.endswith(b'\x1b[?7h\x1b[?25h\x1b[?1049l')
            and termios.tcgetattr(self.slave) == self.modes
        )


class Watch(unittest.TestCase):
    def setUp(self):
        self.bench = Bench()
        self.addCleanup(self.bench.stop)
        self.coordinator = self.bench.start_coordinator()
        self.at = '--coordinator=' + self.bench.address

    def once(self, *flags):
        done = self.bench.run('watch', 'jobs', '--once', *flags)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr, '')
        return [json.loads(line) for line in done.stdout.splitlines()]

    def set(self, job, state):
        done = self.bench.run('job', 'status', job, state)
        self.assertEqual(done.returncode, 0, done.stderr)

    def restart(self):
        self.coordinator.terminate()
        self.coordinator.wait()
        time.sleep(0.5)
        self.coordinator = self.bench.start_coordinator(listen=self.bench.address)


class InAPipe(Watch):
    def test_once_gives_the_present_jobs(self):
        self.assertEqual(self.once(), [])
        for i in range(20):
            self.bench.apply(f'job-{i}', {'n': [i % 8]})
        self.set('job-3', 'failed')
        self.bench.run('job', 'delete', 'job-7')
        signals = self.once('--json')
        self.assertEqual(
            {s['jobId']: s['jobStatus'] for s in signals},
            {f'job-{i}': 'failed' if i == 3 else 'running' for i in range(20) if i != 7},
        )
        for one in signals:
            self.assertEqual(list(one), FIELDS)
            self.assertEqual(one['operator'], 'add')
            self.assertEqual(json.loads(one['HcclJson'])['status'], 'complete')

    def test_once_when_every_job_has_gone(self):
        self.bench.apply('a', {'n': [0]})
        self.bench.run('job', 'delete', 'a')
        self.assertEqual(self.once(), [])

    def test_every_signal_is_a_line(self):
        self.bench.apply('a', {'n': [0]})
        watch = Lines(self, self.at)
        until('the snapshot', lambda: watch.states('a') == ['running'])
        self.bench.apply('b', {'n': [1]})
        for state in ('complete', 'failed', 'failed', 'pending'):
            self.set('a', state)
            until(state, lambda: watch.states('a')[-1:] == [state])
        self.bench.run('job', 'delete', 'b')
        until('the delete', lambda: watch.states('b') == ['running', 'deleted'])
        self.assertEqual(watch.states('a'), ['running', 'complete', 'failed', 'pending'])
        self.assertNotEqual(watch.signals[-1]['deleteTime'], '')
        self.assertIsNone(watch.child.poll())
        watch.child.send_signal(signal.SIGTERM)
        self.assertEqual(watch.child.wait(20), 0)
        self.assertEqual(watch.said, [])

    def test_it_ends_when_nobody_reads(self):
        self.bench.apply('a', {'n': [0]})
        child = subprocess.Popen(
            [BINARY, 'watch', 'jobs', self.at], stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        self.addCleanup(lambda: (child.kill(), child.wait(), child.stderr.close()))
        self.assertTrue(child.stdout.readline())
        child.stdout.close()  # no signal follows
        self.assertEqual(child.wait(20), 0)
        self.assertEqual(child.stderr.read(), b'')

    def test_a_restart_of_the_coordinator(self):
        self.bench.apply('a', {'n': [0]})
        watch = Lines(self, self.at)
        until('the snapshot', lambda: watch.states('a') == ['running'])
        for turn in (1, 2):
            before = len(watch.states('a'))
            self.restart()
            until('the present state again', lambda: watch.states('a')[before:] == ['running'])
            for state in ('pending', 'running'):
                self.set('a', state)
                until('the change', lambda: watch.states('a')[-1] == state)
            until('the messages', lambda: len(watch.said) == 2 * turn)
        for lost, back in zip(watch.said[::2], watch.said[1::2]):
            self.assertIn(self.bench.address, lost)
            self.assertIn('waiting for it', lost)
            self.assertIn('the coordinator is back', back)

    def test_what_went_unseen_is_a_line_too(self):
        for jobs in (['a', 'b'], ['a']):
            for job in jobs:
                self.bench.apply(job, {'n': [0]})
            watch = Lines(self, self.at)
            until('the snapshot', lambda: all(watch.states(job) for job in jobs))
            watch.child.send_signal(signal.SIGSTOP)
            self.coordinator.kill()
            self.coordinator.wait()
            self.coordinator = self.bench.start_coordinator(
                '--deleted-kept=0s', listen=self.bench.address
            )
            self.assertEqual(self.bench.run('job', 'delete', 'a').returncode, 0)
            # The deletion has expired: no new subscriber gets it.
            until('the expiry of the deletion', lambda: not self.deletes_told(jobs[1:]))
            watch.child.send_signal(signal.SIGCONT)
            until('the delete', lambda: watch.states('a') == ['running', 'deleted'])
            last = [s for s in watch.signals if s['jobId'] == 'a'][-1]
            self.assertEqual((last['jobStatus'], last['deleteTime']), ('running', ''))
            self.assertEqual(
                {**last, 'operator': 'add'}, [s for s in watch.signals if s['jobId'] == 'a'][0]
            )
            for job in jobs[1:]:
                until('the other', lambda: watch.states(job) == ['running', 'running'])
                self.bench.run('job', 'delete', job)
            watch.stop()

    def deletes_told(self, present):
        """Whether a new subscriber gets deletions of jobs."""
        self.bench.apply('last', {'n': [1]})
        watch = Lines(self, self.at)
        until('the jobs', lambda: all(watch.states(job) for job in [*present, 'last']))
        watch.stop()
        self.bench.run('job', 'delete', 'last')
        return any(s['operator'] == 'delete' for s in watch.signals)

    def test_what_cannot_work_is_said(self):
        for args, said in (
            ([self.at, '--client-role=Nobody'], 'Nobody'),
            (['--coordinator=127.0.0.1:1'], '127.0.0.1:1'),
            (['--clientrole=x'], 'did you mean --client-role?'),
        ):
            done = subprocess.run(
                [BINARY, 'watch', 'jobs', *args],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=60,
            )
            self.assertEqual(done.returncode, 1, args)
            self.assertIn(said, done.stderr)
            self.assertEqual(done.stdout, '')

    def test_a_full_disk_is_said(self):
        self.bench.apply('a', {'n': [0]})
        with open('/dev/full', 'wb') as full:
            done = subprocess.run(
                [BINARY, 'watch', 'jobs', self.at], stdout=full, stderr=subprocess.PIPE, timeout=60
            )
        self.assertEqual(done.returncode, 1)
        self.assertIn(b'standard output', done.stderr)


class OnATerminal(Watch):
    def test_a_live_table(self):
        self.bench.apply('a', {'n': [0, 1], 'm': [0]})
        watch = Terminal(self, self.at)
        watch.shows('1 job: 1 running')
        row = next(line for line in watch.page() if line.startswith('a '))
        self.assertRegex(row, r'^a +running +\d+s +3 +2$')
        self.set('a', 'failed')
        watch.shows('1 job: 1 failed')
        self.bench.apply('b', {'x': [0]})
        watch.shows('2 jobs: 1 failed, 1 running')
        self.bench.run('job', 'delete', 'a')
        watch.shows('1 job: 1 running', 'deleted')
        self.assertIn(b'\x1b[2ma ', watch.read())
        os.write(watch.master, b'q')
        watch.ended(0)
        self.assertTrue(watch.is_restored())

    def test_it_fits_its_window(self):
        for i in range(30):
            self.bench.apply(f'job-{i}', {'n': [i % 8]})
        watch = Terminal(self, self.at, rows=10, columns=40)
        watch.shows('... and 24 more')
        self.assertEqual(len(watch.page()), 10)
        for rows, more in ((3, None), (20, '... and 14 more'), (40, None)):
            watch.resize(rows, 25)
            wanted = min(rows, 33)
            until('the size', lambda: len(watch.page()) == wanted)
            self.assertLessEqual(max(map(len, watch.page())), 25)
            if more:
                self.assertEqual(watch.page()[-1], more)

    def test_the_terminal_is_given_back(self):
        self.bench.apply('a', {'n': [0]})
        for how in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
            watch = Terminal(self, self.at)
            watch.shows('1 job: 1 running')
            self.assertFalse(watch.is_restored())
            watch.child.send_signal(how)
            watch.ended(0)
            self.assertTrue(watch.is_restored(), how)

    def test_it_can_be_stopped_and_continued(self):
        self.bench.apply('a', {'n': [0]})
        watch = Terminal(self, self.at)
        watch.shows('1 job: 1 running')
        watch.child.send_signal(signal.SIGTSTP)
        until('the stop', lambda: os.waitid(os.P_PID, watch.child.pid, os.WSTOPPED | os.WNOHANG))
        self.assertTrue(watch.is_restored())
        watch.child.send_signal(signal.SIGCONT)
        until('the table', lambda: not watch.is_restored())
        self.set('a', 'failed')
        watch.shows('1 job: 1 failed')
        watch.child.send_signal(signal.SIGINT)
        watch.ended(0)
        self.assertTrue(watch.is_restored())

    def test_a_held_terminal_does_not_keep_it_alive(self):
        self.bench.apply('a', {'n': [0]})
        watch = Terminal(self, self.at)
        watch.shows('1 job: 1 running')
        termios.tcflow(watch.slave, termios.TCOOFF)
        time.sleep(0.5)
        watch.child.send_signal(signal.SIGTERM)
        self.assertEqual(watch.child.wait(20), 0)

    def test_a_restart_of_the_coordinator(self):
        self.bench.apply('a', {'n': [0]})
        watch = Terminal(self, self.at)
        watch.shows('1 job: 1 running')
        self.coordinator.kill()
        self.coordinator.wait()
        watch.shows('waiting for it')
        self.assertTrue(any(line.startswith('a ') for line in watch.page()))
        self.coordinator = self.bench.start_coordinator(listen=self.bench.address)
        watch.shows('assay watch jobs on ' + self.bench.address)
        self.bench.run('job', 'delete', 'a')
        watch.shows('0 jobs')

    def test_once_is_a_plain_table(self):
        self.bench.apply('a', {'n': [0]})
        watch = Terminal(self, self.at, '--once')
        watch.ended(0)
        self.assertNotIn(b'\x1b', watch.read())
        lines = watch.read().decode().splitlines()
        self.assertEqual(lines[0], '1 job: 1 running')
        self.assertRegex(lines[2], r'^a +running +\d+s +1 +1$')


class CoordinatorFlags(unittest.TestCase):
    def setUp(self):
        self.bench = Bench()
        self.addCleanup(self.bench.stop)

    def start(self, *flags):
        self.bench.start_coordinator(*flags)
        self.at = '--coordinator=' + self.bench.address

    def test_roles(self):
        self.start('--job-roles=Platform,Other One')
        for role, status in (('Platform', 0), ('Other One', 0), ('DefaultUser1', 1)):
            done = self.bench.run('watch', 'jobs', '--once', '--client-role=' + role)
            self.assertEqual(done.returncode, status, done.stderr)

    def test_subscriptions(self):
        self.start('--subscriptions-max=1')
        self.bench.apply('a', {'n': [0]})
        first = Lines(self, self.at)
        until('the first', lambda: first.signals)
        done = self.bench.run('watch', 'jobs', '--once')
        self.assertEqual(done.returncode, 1)
        self.assertIn('429 subscription num limit', done.stderr)

    def test_how_long_a_deleted_job_is_told(self):
        for kept, told in (('1h', ['deleted', 'running']), ('0s', ['running'])):
            self.start('--deleted-kept=' + kept)
            self.bench.apply('a', {'n': [0]})
            self.bench.run('job', 'delete', 'a')
            self.bench.apply('b', {'n': [0]})

            def told_now():
                watch = Lines(self, self.at)
                until('a job', lambda: watch.states('b'))
                watch.stop()
                return watch.states('a') + watch.states('b')

            until(told, lambda: told_now() == told)
            self.bench.stop()
            self.bench = Bench()
            self.addCleanup(self.bench.stop)

    def test_what_is_wrong_is_said(self):
        for flag, said in (
            ('--job-roles=a,,b', '--job-roles: role id is empty'),
            ('--job-roles=', '--job-roles: role id is empty'),
            ('--subscriber-buffer=1MB', '"1MB" has an unknown unit'),
            ('--subscriber-buffer=1', '--subscriber-buffer: "1" is not between 1KiB and 1GiB'),
            ('--subscriptions-max=0', '--subscriptions-max'),
            ('--idle-timeout=5s', '--idle-timeout=5 s'),
            ('--idle-timeout=10', '"10" has no unit'),
        ):
            done = subprocess.run(
                [BINARY, '--role=coordinator', '--db=/no/db', '--port-file=/no/port', flag],
                capture_output=True,
                text=True,
                timeout=60,
            )
            self.assertEqual(done.returncode, 1, flag)
            self.assertIn(said, done.stderr)


class Documents(Watch):
    def test_the_platform_of_the_documents(self):
        top = os.path.join(HERE, '../..')
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(
                [
                    'protoc',
                    '--proto_path=' + os.path.join(top, 'proto'),
                    '--python_out=' + folder,
                    '--grpc_out=' + folder,
                    '--plugin=protoc-gen-grpc=' + shutil.which('grpc_python_plugin'),
                    'job.proto',
                ],
                check=True,
            )
            sys.path.insert(0, folder)
            self.addCleanup(sys.path.remove, folder)
            with open(os.path.join(top, 'docs/job-signals.md'), encoding='utf-8') as file:
                code = re.search(r'```python\n(.*?)```', file.read(), re.DOTALL).group(1)
            names = {}
            exec(code, names)  # pylint: disable=exec-used
        seen = []

        def note(one):
            seen.append((one.jobId, one.jobStatus, one.operator))

        threading.Thread(
            target=names['follow'], args=(self.bench.address, note), daemon=True
        ).start()
        self.bench.apply('a', {'n': [0]})
        until('the job', lambda: seen[-1:] == [('a', 'running', 'add')])
        self.set('a', 'failed')
        until('its state', lambda: seen[-1:] == [('a', 'failed', 'add')])
        seen.clear()
        self.restart()
        until('the job again', lambda: seen == [('a', 'failed', 'add')])
        self.bench.run('job', 'delete', 'a')
        until('its deletion', lambda: seen[-1] == ('a', 'failed', 'delete'))


if __name__ == '__main__':
    unittest.main()
