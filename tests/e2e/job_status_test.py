"""`assay job status --stdin`: sets the states of many jobs from standard input."""
import json
import os
import signal
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '../support'))
from harness import BINARY, Bench, until

STATES = ('pending', 'running', 'complete', 'failed')


class FromInput(unittest.TestCase):
    def setUp(self):
        self.bench = Bench()
        self.addCleanup(self.bench.stop)
        self.coordinator = self.bench.start_coordinator()

    def feed(self, text, *flags):
        return subprocess.run(
            [BINARY, 'job', 'status', '--stdin', '--coordinator=' + self.bench.address, *flags],
            input=text.encode() if isinstance(text, str) else text,
            capture_output=True,
            timeout=120,
        )

    def open(self, *flags):
        child = subprocess.Popen(
            [BINARY, 'job', 'status', '--stdin', '--coordinator=' + self.bench.address, *flags],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.addCleanup(lambda: (child.kill(), child.communicate()))
        return child

    def state(self, job):
        return json.loads(self.bench.run('job', 'show', job, '--json').stdout)['state']

    def history(self, job):
        """The states that the coordinator recorded, oldest first."""
        events = self.bench.events('job_state', job)
        return [text.split(',')[0] for text in events]

    def test_each_line_counts_for_itself(self):
        self.bench.apply('a', {'n': [0]})  # running
        self.bench.apply('my job', {'n': [1]})
        done = self.feed(
            b'\xef\xbb\xbfa failed\r\n'
            b'\n'
            b'  # a comment\n'
            b'\t a \t failed\n'
            b'x running\n'
            b'a runing\n'
            b'a\n'
            b'\x00\xff\x1b[2J y\n' + b'z' * 100_000 + b'\n'
            b'my job complete'
        )
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stdout, b'')
        said = [line[len('assay job status: ') :] for line in done.stderr.decode().splitlines()]
        self.assertEqual(
            said[0][: len('line 5: job "x" does not exist')], 'line 5: job "x" does not exist'
        )
        self.assertIn('did you mean running?', said[1])
        self.assertTrue(said[1].startswith('line 6: '), said[1])
        self.assertEqual(said[2], 'line 7: expected ID STATE, found only "a"')
        self.assertTrue(said[3].startswith('line 8: '), said[3])
        self.assertEqual(said[4], 'line 9: longer than 4096 bytes')
        self.assertEqual(said[5], '2 set, 1 unchanged, 5 failed')
        self.assertEqual(len(said), 6)
        self.assertEqual(self.state('a'), 'failed')
        self.assertEqual(self.state('my job'), 'complete')

    def test_nothing_is_no_error(self):
        done = self.feed('', '--json')
        self.assertEqual(done.returncode, 0)
        self.assertEqual(done.stdout, b'{"set":0,"unchanged":0,"failed":0}\n')

    def test_both_ways_at_once_are_refused(self):
        for args in (['--stdin', 'a', 'failed'], ['a'], []):
            done = self.bench.run('job', 'status', *args)
            self.assertEqual(done.returncode, 1)
            self.assertIn('assay job status:', done.stderr)

    def test_many_lines_keep_each_jobs_order(self):
        jobs = [f'job-{i}' for i in range(5)]
        for i, job in enumerate(jobs):
            self.bench.apply(job, {'n': [i]})
        lines = [f'{job} {STATES[turn % 4]}' for turn in range(600) for job in jobs]
        done = self.feed('\n'.join(lines), '--json')
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr, b'')
        self.assertEqual(json.loads(done.stdout), {'set': 3000, 'unchanged': 0, 'failed': 0})
        for job in jobs:
            self.assertEqual(self.history(job), [STATES[turn % 4] for turn in range(600)])

    def test_lines_are_sent_as_they_come(self):
        self.bench.apply('a', {'n': [0]})
        child = self.open()
        for state in ('pending', 'failed', 'running'):
            child.stdin.write(f'a {state}\n'.encode())
            child.stdin.flush()
            until(state, lambda: self.state('a') == state)
            self.assertIsNone(child.poll())
        _, errors = child.communicate(timeout=20)
        self.assertEqual(child.returncode, 0)
        self.assertIn(b'3 set, 0 unchanged, 0 failed', errors)

    def test_an_interruption_says_what_was_done(self):
        self.bench.apply('a', {'n': [0]})
        for how, state in ((signal.SIGINT, 'failed'), (signal.SIGTERM, 'running')):
            child = self.open()
            child.stdin.write(f'a {state}\n'.encode())
            child.stdin.flush()
            until('the state', lambda: self.state('a') == state)
            child.send_signal(how)
            self.assertEqual(child.wait(20), 1)
            self.assertIn(b'1 set, 0 unchanged, 0 failed', child.stderr.read())

    def test_a_coordinator_that_goes_away(self):
        self.bench.apply('a', {'n': [0]})
        child = self.open('--json')
        child.stdin.write(b'a failed\n')
        child.stdin.flush()
        until('the state', lambda: self.state('a') == 'failed')
        self.coordinator.kill()
        self.coordinator.wait()
        output, errors = child.communicate(b'# the next one is line 3\na running\na failed\n', 60)
        self.assertEqual(child.returncode, 1)
        self.assertEqual(
            json.loads(output), {'set': 1, 'unchanged': 0, 'failed': 0, 'unknown_from_line': 3}
        )
        self.assertIn(b'the result is unknown from line 3 on', errors)
        self.assertIn(self.bench.address.encode(), errors)


if __name__ == '__main__':
    unittest.main()
