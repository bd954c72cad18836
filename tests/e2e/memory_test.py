"""The processes return the memory of large requests to the system once they are idle."""
import os
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../support'))
from harness import Bench, pb

ENTRIES = 100_000
ROUNDS = 40


def resident_kib(child):
    with open(f'/proc/{child.pid}/status', encoding='utf-8') as file:
        return next(int(line.split()[1]) for line in file if line.startswith('VmRSS'))


def large_requests():
    """Requests that are parsed and checked as a whole before the cluster refuses them."""
    ok = pb.StressTestOpResult(code='0', result='OK')
    return (
        (
            'StressTest',
            pb.StressTestParam(
                jobID='job',
                stressParam={f'node-{i}': pb.StressOpList(ops=[0]) for i in range(ENTRIES)},
            ),
        ),
        (
            'ReplyStressTestResult',
            pb.StressTestResult(
                jobId='job',
                stressResult={
                    str(i): pb.StressTestRankResult(rankResult={'0': ok}) for i in range(ENTRIES)
                },
            ),
        ),
    )


class Memory(unittest.TestCase):
    def setUp(self):
        self.bench = Bench()
        self.addCleanup(self.bench.stop)

    def test_it_returns_to_where_it_was(self):
        bench = self.bench
        children = {'the coordinator': bench.start_coordinator()}
        children['the agent'] = bench.start_agent('a', '--sim-op-ms=1')
        bench.apply('job', {'a': range(8)})
        self.assertEqual(bench.run('stress', 'job').returncode, 0)
        before = {name: resident_kib(child) for name, child in children.items()}
        requests = [(method, request.SerializeToString()) for method, request in large_requests()]
        for turn in range(ROUNDS):
            for method, request in requests:
                self.assertIn(bench.call(method, request).code, (0, 413))
            if turn % 4 == 0:
                self.assertEqual(bench.run('stress', 'job').returncode, 0)
        end = time.monotonic() + 30
        grown = True
        while grown and time.monotonic() < end:
            time.sleep(0.5)
            after = {name: resident_kib(child) for name, child in children.items()}
            grown = {
                name: f'{before[name]} KiB -> {after[name]} KiB'
                for name in children
                if after[name] > 2 * before[name] + 8 * 1024
            }
        print(f'KiB before {before}, after {after}', file=sys.stderr)
        self.assertEqual(grown, {})


if __name__ == '__main__':
    unittest.main(verbosity=1)
