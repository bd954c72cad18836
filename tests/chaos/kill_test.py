"""Kills the coordinator and agents with SIGKILL at arbitrary moments and restarts them.

Every run must end, and every outcome must count exactly once.
"""
import json
import os
import random
import sqlite3
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../support'))
from harness import Bench, pb, until

KILLS = int(os.environ.get('ASSAY_KILLS', '15'))
SEED = int(os.environ.get('ASSAY_SEED', '0')) or random.SystemRandom().getrandbits(32)


class Kill(unittest.TestCase):
    def setUp(self):
        self.bench = Bench()
        self.addCleanup(self.bench.stop)

    def restart_coordinator(self, *flags):
        return self.bench.start_coordinator(*flags, listen=self.bench.address)

    def database(self, query, *args):
        # Read-only: only the coordinator's single connection may write.
        file = os.path.join(self.bench.folder, 'assay.db')
        connection = sqlite3.connect(f'file:{file}?mode=ro', uri=True, timeout=20)
        try:
            return connection.execute(query, args).fetchall()
        finally:
            connection.close()

    def start_run(self, job, *flags):
        def started():
            done = self.bench.run('stress', job, '--detach', '--json', *flags)
            return done.stdout if done.returncode == 0 else None

        return json.loads(until('a run of ' + job, started, 60))['run']

    def await_end(self, run, seconds=60):
        def ended():
            done = self.bench.run('run', 'show', str(run), '--json')
            shown = json.loads(done.stdout) if done.returncode == 0 else {}
            return shown if shown.get('ended_ms') else None

        return until(f'the end of run {run}', ended, seconds)

    def test_the_coordinator_dies_again_and_again(self):
        print(f'ASSAY_SEED={SEED} ASSAY_KILLS={KILLS}', file=sys.stderr)
        chance = random.Random(SEED)
        bench = self.bench
        coordinator = bench.start_coordinator()
        for node in ('a', 'b'):
            bench.start_agent(node, '--sim-op-ms=150', '--sim=3:aic=faulty,2:p2p=not_run')
        bench.apply('job', {'a': [0, 1, 2, 3], 'b': [0, 1, 2, 3]})
        runs = [self.start_run('job')]
        kills = 0
        while kills < KILLS:
            time.sleep(chance.uniform(0, 0.7))
            coordinator.kill()
            coordinator.wait()
            kills += 1
            coordinator = self.restart_coordinator()
            if chance.random() < 0.7:
                self.await_end(runs[-1])
                runs.append(self.start_run('job'))
        self.await_end(runs[-1])
        codes = {
            (node, device, op): 0 for node in 'ab' for device in range(4) for op in ('aic', 'p2p')
        }
        for node in 'ab':
            codes[node, 3, 'aic'], codes[node, 3, 'p2p'], codes[node, 2, 'p2p'] = 2, 1, 1
        for run in runs:
            rows = self.database('select node, device, op, code from results where run = ?', run)
            self.assertEqual(
                {(node, device, op): code for node, device, op, code in rows}, codes, f'run {run}'
            )
            self.assertEqual(len(rows), len(codes))
        ended = self.database(
            "select run, count(*) from events where kind = 'run_ended' group by run"
        )
        self.assertEqual(sorted(ended), [(run, 1) for run in runs])
        self.assertEqual(self.database('pragma integrity_check'), [('ok',)])

    def test_an_agent_killed_in_a_test_answers_when_it_is_back(self):
        bench = self.bench
        bench.start_coordinator()
        agent = bench.start_agent('a', '--sim-op-ms=50', '--sim=0:aic=hang,2:aic=hang')
        bench.apply('job', {'a': [0, 1, 2]})
        run = self.start_run('job')
        # Rank 1 answers aic; ranks 0 and 2 hang in it.
        until(
            'the first outcome', lambda: self.database('select 1 from outcomes where run = ?', run)
        )
        agent.kill()
        agent.wait()
        bench.start_agent('a', '--sim-op-ms=50')
        shown = self.await_end(run)
        details = {(r['rank'], r['op']): (r['code'], r['detail']) for r in shown['results']}
        self.assertEqual(details[1, 'aic'][0], 0)
        for rank in (0, 2):
            self.assertEqual(details[rank, 'aic'], (1, 'agent restarted during the test'))
            self.assertEqual(details[rank, 'p2p'][0], 1)
        # The devices are free again.
        self.assertEqual(bench.run('stress', 'job').returncode, 0)

    def test_an_agent_that_never_returns_times_out(self):
        bench = self.bench
        bench.start_coordinator(
            '--aic-deadline=500ms',
            '--p2p-deadline=500ms',
            '--start-allowance=500ms',
            '--kill-grace=200ms',
            '--agent-timeout=1s',
        )
        agent = bench.start_agent('a', '--sim-op-ms=60000')
        bench.apply('job', {'a': [0, 1]})
        run = self.start_run('job', '--op', 'aic')
        until(
            'the start',
            lambda: self.database(
                "select 1 from events where kind = 'run_started' and run = ?", run
            ),
        )
        agent.kill()
        shown = self.await_end(run)
        self.assertEqual({r['outcome'] for r in shown['results']}, {'timeout'})
        self.assertTrue(
            shown['message'].startswith('stress test timeout fault, faultRank:[0 1],result:')
        )

    def test_a_subscriber_is_told_once_though_the_coordinator_dies(self):
        bench = self.bench
        coordinator = bench.start_coordinator()
        bench.apply('job', {'a': [0]})
        first = bench.executor('job')
        request = pb.StressTestParam(jobID='job', stressParam={'a': pb.StressOpList(ops=[0])})
        self.assertEqual(bench.call('StressTest', request).code, 0)
        until('the notification', lambda: first.messages)
        coordinator.kill()
        coordinator.wait()
        coordinator = self.restart_coordinator()
        second = bench.executor('job')
        reply = pb.StressTestResult(
            jobId='job',
            stressResult={
                '0': pb.StressTestRankResult(
                    rankResult={'0': pb.StressTestOpResult(code='0', result='OK')}
                )
            },
        )
        self.assertEqual(bench.call('ReplyStressTestResult', reply).code, 0)
        self.assertEqual(
            self.await_end(1)['message'],
            'stress test finish, result:'
            '{"a":{"0":{"rankResult":{"0":{"code":"0","result":"OK"}}}}}',
        )
        self.assertEqual(second.messages, [])
        first.close()
        second.close()


if __name__ == '__main__':
    unittest.main(verbosity=1)
