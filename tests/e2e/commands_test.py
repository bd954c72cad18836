"""The program as operators use it: commands, exit statuses, JSON and error messages."""
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '../support'))
from harness import BINARY, Bench, rank_table, until

TABLES = os.path.join(HERE, '../data/ranktables')


def plain(*args, **kwargs):
    """Runs the program without a coordinator."""
    return subprocess.run(
        [BINARY, *args],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        **kwargs,
    )


class WithoutCoordinator(unittest.TestCase):
    def test_wrong_words_are_said_with_the_nearest_right_one(self):
        for args, said in (
            (['--lisen=x'], 'did you mean --listen?'),
            (['--role=cordinator'], 'did you mean coordinator?'),
            (['jbo', 'list'], 'did you mean job list?'),
            (['job'], 'apply, status, list, show, delete, check'),
            (['stress', 'j', '--op', 'aix'], 'did you mean aic?'),
            (['stress', 'j', '--excutor=agent'], 'did you mean --executor?'),
            (['--role=coordinator', '--aic-deadline=30'], '--aic-deadline: "30" has no unit'),
            (['--role=coordinator', '--aic-deadline=0s'], '--aic-deadline: 0s is too short'),
            (['--role=agent', '--sim=3:aic=faulti', '--driver=sim'], 'faulty'),
            (['run', 'show', 'seven'], 'seven'),
            (
                ['job', 'list', '--coordinator=127.0.0.1:99999'],
                '--coordinator: "127.0.0.1:99999": port "99999"',
            ),
            (['node', 'list', '--coordinator', 'http://h:1'], '--coordinator: "http://h:1" is not'),
            (['job', 'apply', 'x', '--name=a\udcff'], '--name: "a\\xff" is not UTF-8'),
            (['job', 'apply', '\udcff', '--rank-table=x'], 'ID: "\\xff" is not UTF-8'),
            (['job', 'apply', '--', 'x', '--rank-table', 'f'], 'after -- are never flags'),
            ([], '--help'),
        ):
            done = plain(*args)
            self.assertEqual(done.returncode, 1, args)
            self.assertIn(said, done.stderr, args)
            self.assertEqual(done.stdout, '')

    def test_every_command_has_help(self):
        listed = plain('--help')
        self.assertEqual(listed.returncode, 0)
        for command in (
            'job apply',
            'job status',
            'job list',
            'job show',
            'job delete',
            'job check',
            'watch jobs',
            'stress',
            'run list',
            'run show',
            'run cancel',
            'node list',
            'node forget',
        ):
            self.assertIn('  ' + command + ' ', listed.stdout)
            done = plain(*command.split(), '--help')
            self.assertEqual(done.returncode, 0)
            self.assertIn('Usage: assay ' + command, done.stdout)
        self.assertRegex(plain('--version').stdout, r'^assay \d+\.\d+\.\d+\n$')

    def test_job_check_judges_every_fixture_as_expected(self):
        with open(os.path.join(TABLES, 'EXPECTED.json'), encoding='utf-8') as file:
            expected = json.load(file)
        status = {'accept': 0, 'accept-warn': 0, 'reject': 1, 'not-ready': 75}
        for name, verdict in expected.items():
            done = plain('job', 'check', os.path.join(TABLES, name), '--json')
            self.assertEqual(done.returncode, status[verdict['result']], name)
            judged = json.loads(done.stdout)
            self.assertEqual(set(judged), {'verdict', 'ranks', 'warnings', 'error'})
            self.assertEqual(judged['verdict'], verdict['result'], name)
            nodes = {}
            for place in judged['ranks']:
                self.assertEqual(set(place), {'rank', 'node', 'device'})
                nodes.setdefault(place['node'], []).append([place['rank'], place['device']])
            if judged['verdict'].startswith('accept'):
                self.assertEqual(
                    {n: sorted(p) for n, p in nodes.items()},
                    {n: sorted(p) for n, p in verdict['nodes'].items()},
                    name,
                )

    def test_closed_descriptors_are_errors_that_are_said(self):
        for closed, args, said in (
            ('<&-', ['job', 'status', '--stdin'], 'standard input: Bad file descriptor'),
            ('<&-', ['job', 'apply', 'x', '--rank-table=-'], 'standard input: Bad file'),
            ('<&-', ['job', 'check', '-'], 'standard input: Bad file descriptor'),
            ('>&-', ['--version'], 'could not be written to standard output'),
            ('<&- >&-', ['--help'], 'could not be written to standard output'),
            ('2>&-', ['jbo'], ''),
        ):
            done = subprocess.run(
                ['sh', '-c', f'exec "$@" {closed}', 'sh', BINARY, *args],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=60,
            )
            self.assertEqual(done.returncode, 1, (closed, args, done.stderr))
            self.assertIn(said, done.stderr)

    def test_output_that_nobody_can_have_is_no_success(self):
        table = os.path.join(TABLES, '16_v10_one_device.json')
        with open('/dev/full', 'wb') as full:
            done = subprocess.run(
                [BINARY, 'job', 'check', table, '--json'], stdout=full, stderr=subprocess.PIPE
            )
        self.assertEqual(done.returncode, 1)
        self.assertIn(b'standard output', done.stderr)

    def test_nobody_listens(self):
        for args in (['job', 'list'], ['node', 'list'], ['stress', 'j'], ['run', 'list']):
            done = plain(*args, '--coordinator=127.0.0.1:1')
            self.assertEqual(done.returncode, 1)
            self.assertIn('127.0.0.1:1', done.stderr)

    def test_an_agent_tries_on_and_says_so_once(self):
        bench = Bench()
        self.addCleanup(bench.stop)
        bench.address = '127.0.0.1:1'
        agent = bench.start(
            'agent',
            '--role=agent',
            '--coordinator=127.0.0.1:1',
            '--driver=sim',
            '--node=a',
            '--state-dir=' + os.path.join(bench.folder, 'a'),
        )
        until('the message', lambda: '127.0.0.1:1' in bench.log('agent'))
        time.sleep(3)
        self.assertIsNone(agent.poll())
        self.assertEqual(bench.log('agent').count('cannot'), 1, bench.log('agent'))
        agent.terminate()
        self.assertEqual(agent.wait(20), 0)


class WithCoordinator(unittest.TestCase):
    def setUp(self):
        self.bench = Bench()
        self.addCleanup(self.bench.stop)

    def json(self, *args, status=0):
        done = self.bench.run(*args, '--json')
        self.assertEqual(done.returncode, status, done.stderr)
        return json.loads(done.stdout)

    def test_a_plan_of_every_outcome(self):
        bench = self.bench
        bench.start_coordinator(
            '--aic-deadline=1500ms', '--p2p-deadline=1500ms', '--kill-grace=500ms'
        )
        bench.start_agent(
            'a',
            '--sim-op-ms=50',
            '--sim=3:aic=faulty,5:p2p=hang,6:aic=crash,7:aic=voltage,2:p2p=not_run',
        )
        bench.start_agent(
            'b', '--sim-op-ms=50', '--sim=0:aic=not_run,1:aic=hang,4:p2p=crash,5:p2p=faulty'
        )
        bench.apply('job', {'a': range(8), 'b': range(8)})
        shown = self.json('stress', 'job', '--op', 'aic', '--op', 'p2p', status=2)
        planned = {(rank, op): 'ok' for rank in range(16) for op in ('aic', 'p2p')}
        planned.update(
            {
                (3, 'aic'): 'faulty',
                (3, 'p2p'): 'not_run',
                (5, 'p2p'): 'timeout',
                (6, 'aic'): 'not_run',
                (6, 'p2p'): 'not_run',
                (7, 'aic'): 'voltage_not_restored',
                (7, 'p2p'): 'not_run',
                (2, 'p2p'): 'not_run',
                (8, 'aic'): 'not_run',
                (8, 'p2p'): 'not_run',
                (9, 'aic'): 'timeout',
                (9, 'p2p'): 'not_run',
                (12, 'p2p'): 'not_run',
                (13, 'p2p'): 'faulty',
            }
        )
        self.assertEqual({(r['rank'], r['op']): r['outcome'] for r in shown['results']}, planned)
        details = {(r['rank'], r['op']): r['detail'] for r in shown['results']}
        self.assertIn('worker died: signal 11 in aic', details[6, 'aic'])
        self.assertIn('worker died: signal 11 in p2p', details[12, 'p2p'])
        file = os.path.join(bench.folder, 'assay.db')
        rows = subprocess.run(
            ['sqlite3', '-readonly', file, 'select rank, op, outcome from results'],
            capture_output=True,
            text=True,
            check=True,
        ).stdout.split()
        self.assertEqual(
            {(int(r), op): outcome for r, op, outcome in (row.split('|') for row in rows)}, planned
        )
        # The devices are free again and work.
        shown = self.json('stress', 'job', '--op', 'aic', '--node', 'b', status=3)
        self.assertEqual({r['node'] for r in shown['results']}, {'b'})

    def test_exit_statuses(self):
        bench = self.bench
        bench.start_coordinator('--aic-deadline=800ms', '--kill-grace=200ms')
        plans = {
            'ok': ('', 0),
            'faulty': ('0:aic=faulty,1:aic=voltage', 2),
            'volt': ('0:aic=voltage,1:aic=hang', 4),
            'late': ('0:aic=hang,1:aic=not_run', 3),
            'norun': ('0:aic=not_run', 5),
        }
        for node, (plan, _) in plans.items():
            bench.start_agent(node, '--sim-op-ms=10', *(['--sim=' + plan] if plan else []))
            bench.apply(node, {node: [0, 1]})
        for node, (_, status) in plans.items():
            done = bench.run('stress', node, '--op', 'aic')
            self.assertEqual(done.returncode, status, node + done.stderr)
        self.assertEqual(bench.run('stress', 'nobody').returncode, 1)

    def test_jobs(self):
        bench = self.bench
        bench.start_coordinator()
        table = os.path.join(TABLES, '18_v10_servers_not_sorted.json')
        done = bench.run(
            'job',
            'apply',
            'one',
            '--rank-table',
            table,
            '--name',
            'First',
            '--namespace',
            'ns',
            '--framework',
            'pytorch',
            '--master-addr',
            '192.0.2.1',
            '--shared-tor-ip',
            '192.0.2.2',
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        checked = json.loads(plain('job', 'check', table, '--json').stdout)
        shown = self.json('job', 'show', 'one')
        self.assertEqual(shown['ranks'], checked['ranks'])
        self.assertEqual(
            (shown['name'], shown['namespace'], shown['framework'], shown['state']),
            ('First', 'ns', 'pytorch', 'running'),
        )
        for state in ('complete', 'pending', 'failed', 'running'):
            self.assertEqual(bench.run('job', 'status', 'one', state).returncode, 0)
            self.assertEqual(self.json('job', 'show', 'one')['state'], state)
        self.assertIn('did you mean running', bench.run('job', 'status', 'one', 'runing').stderr)
        rejected = bench.run(
            'job',
            'apply',
            'two',
            '--rank-table',
            os.path.join(TABLES, '25_v10_duplicate_rank_id.json'),
        )
        self.assertEqual(rejected.returncode, 1)
        self.assertIn('rank_id 1 used by node_0 device 1 and node_1 device 0', rejected.stderr)
        self.assertIn('25_v10_duplicate_rank_id.json', rejected.stderr)
        half = bench.run(
            'job',
            'apply',
            'two',
            '--rank-table',
            os.path.join(TABLES, '67_truncated_half_written.json'),
        )
        self.assertEqual(half.returncode, 75)
        early = bench.run(
            'job',
            'apply',
            'two',
            '--rank-table',
            os.path.join(TABLES, '56_clusterd_initializing.json'),
        )
        self.assertEqual(early.returncode, 0, early.stderr)
        self.assertEqual(self.json('job', 'show', 'two')['state'], 'pending')
        self.assertEqual([job['id'] for job in self.json('job', 'list')], ['one', 'two'])
        self.assertEqual(bench.run('job', 'delete', 'two').returncode, 0)
        self.assertEqual(bench.run('job', 'delete', 'two').returncode, 1)
        self.assertEqual(bench.run('job', 'delete', '--', '-two').returncode, 1)
        with open(table, encoding='utf-8') as file:
            done = subprocess.run(
                [
                    BINARY,
                    'job',
                    'apply',
                    'in',
                    '--rank-table',
                    '-',
                    '--coordinator=' + bench.address,
                ],
                stdin=file,
                capture_output=True,
                text=True,
                timeout=60,
            )
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_table_over_the_limit_of_a_message(self):
        self.bench.start_coordinator()
        table = rank_table({'n': [0]})
        file = os.path.join(self.bench.folder, 'large.json')
        for spaces, status in ((15 << 20, 0), (17 << 20, 1)):
            with open(file, 'w', encoding='utf-8') as out:
                out.write(table + ' ' * spaces)
            done = self.bench.run('job', 'apply', 'large', '--rank-table', file)
            self.assertEqual(done.returncode, status, done.stderr)
        for text in (file, str(len(table) + spaces), '16711680', '16 MiB', '--jobs-dir', '64 MiB'):
            self.assertIn(text, done.stderr)

    def test_a_table_over_the_limit_of_a_signal(self):
        self.bench.start_coordinator()
        table = json.loads(rank_table({'n': [0]}))
        table['server_list'][0]['note'] = 'x' * (5 << 20)
        done = self.bench.run(
            'job', 'apply', 'big', '--rank-table=-', '--json', text=json.dumps(table)
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("the job's signals omit HcclJson", done.stderr)
        self.assertIn('HcclJson', json.loads(done.stdout)['warnings'][-1])
        seen = self.bench.run('watch', 'jobs', '--once', '--json')
        self.assertEqual(json.loads(seen.stdout)['HcclJson'], '')

    def test_a_file_whose_name_is_no_text(self):
        self.bench.start_coordinator()
        file = os.path.join(os.fsencode(self.bench.folder), b'\xff.json')
        with open(file, 'w', encoding='utf-8') as out:
            out.write(rank_table({'n': [0]}))
        done = self.bench.run('job', 'apply', 'a', '--rank-table', file)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr, '')

    def test_a_job_that_is_not_there_names_the_list(self):
        self.bench.start_coordinator()
        for args, command in (
            (['job', 'show', 'x'], 'job list'),
            (['run', 'show', '9'], 'run list'),
        ):
            done = self.bench.run(*args)
            self.assertEqual(done.returncode, 1)
            self.assertIn(f'`assay {command}` shows the', done.stderr)

    def test_a_job_under_test_keeps_its_table(self):
        bench = self.bench
        bench.start_coordinator()
        bench.start_agent('a', '--sim-op-ms=60000')
        bench.apply('job', {'a': [0, 1]})
        run = self.json('stress', 'job', '--detach')['run']
        table = os.path.join(TABLES, '16_v10_one_device.json')
        for done in (
            bench.run('job', 'apply', 'job', '--rank-table', table),
            bench.run('job', 'delete', 'job'),
            bench.run('stress', 'job'),
        ):
            self.assertEqual(done.returncode, 1)
            self.assertIn(f'run {run}', done.stderr)
        self.assertEqual(bench.run('run', 'cancel', str(run)).returncode, 0)

    def test_an_agent_that_was_stopped_calls_no_answer_late(self):
        bench = self.bench
        bench.start_coordinator('--aic-deadline=4s')
        agent = bench.start_agent('a', '--sim-op-ms=1500')
        bench.apply('job', {'a': [0, 1]})
        run = str(self.json('stress', 'job', '--op', 'aic', '--detach')['run'])
        until('the test', lambda: bench.begun('a', run) == 2)
        agent.send_signal(signal.SIGSTOP)
        time.sleep(6)
        agent.send_signal(signal.SIGCONT)
        shown = until(
            'the end',
            lambda: (lambda r: r if r['ended_ms'] else None)(self.json('run', 'show', run)),
        )
        self.assertEqual({r['outcome'] for r in shown['results']}, {'ok'}, shown['results'])

    def test_cancel(self):
        bench = self.bench
        bench.start_coordinator('--kill-grace=300ms')
        bench.start_agent('a', '--sim-op-ms=60000')
        bench.apply('job', {'a': [0, 1]})
        run = self.json('stress', 'job', '--detach')['run']
        until('the test', lambda: bench.begun('a', run) == 2)
        self.json('run', 'cancel', str(run))
        shown = until(
            'the end',
            lambda: (lambda r: r if r['ended_ms'] else None)(self.json('run', 'show', str(run))),
        )
        self.assertTrue(
            shown['message'].startswith('stress test cancelled,result:'), shown['message']
        )
        self.assertEqual(
            {(r['outcome'], r['detail']) for r in shown['results']}, {('not_run', 'cancelled')}
        )
        self.assertIn('has already ended', bench.run('run', 'cancel', str(run)).stderr)

    def test_a_wait_goes_on_through_a_restart(self):
        bench = self.bench
        coordinator = bench.start_coordinator()
        bench.start_agent('a', '--sim-op-ms=2500')
        bench.apply('job', {'a': [0, 1]})
        wait = bench.start('wait', 'stress', 'job', '--op', 'aic', '--coordinator=' + bench.address)
        until('the wait', lambda: 'run 1 testing' in bench.log('wait'))
        coordinator.terminate()
        self.assertEqual(coordinator.wait(20), 0)
        until('the message', lambda: 'waiting for it, run 1 continues' in bench.log('wait'))
        bench.start_coordinator(listen=bench.address)
        self.assertEqual(wait.wait(60), 0, bench.log('wait'))
        self.assertIn('the coordinator is back', bench.log('wait'))

    def test_ctrl_c_without_a_terminal_leaves_the_run(self):
        bench = self.bench
        bench.start_coordinator()
        bench.start_agent('a', '--sim-op-ms=60000')
        bench.apply('job', {'a': [0, 1]})
        wait = bench.start('wait', 'stress', 'job', '--coordinator=' + bench.address)
        until('the wait', lambda: 'run 1 testing' in bench.log('wait'))
        wait.send_signal(signal.SIGINT)
        self.assertEqual(wait.wait(20), 1)
        self.assertIn('assay run cancel 1', bench.log('wait'))
        self.assertEqual(self.json('run', 'show', '1')['state'], 'testing')

    def test_nodes(self):
        bench = self.bench
        bench.start_coordinator('--agent-timeout=1s')
        agent = bench.start_agent('a')
        node = self.json('node', 'list')[0]
        self.assertEqual((node['name'], node['state'], len(node['devices'])), ('a', 'attached', 8))
        self.assertEqual(bench.run('node', 'forget', 'a').returncode, 1)
        other = bench.start(
            'other',
            '--role=agent',
            '--node=a',
            '--driver=sim',
            '--coordinator=' + bench.address,
            '--state-dir=' + os.path.join(bench.folder, 'other'),
        )
        until('the refusal', lambda: 'another agent' in bench.log('other'))
        agent.kill()
        agent.wait()
        until('the take-over', lambda: self.json('node', 'list')[0]['identity'] != node['identity'])
        other.terminate()
        self.assertEqual(other.wait(20), 0)
        until('the loss of the node', lambda: self.json('node', 'list')[0]['state'] == 'lost')
        self.assertEqual(bench.run('node', 'forget', 'a').returncode, 0)
        self.assertEqual(self.json('node', 'list'), [])


class Daemons(unittest.TestCase):
    def setUp(self):
        self.bench = Bench()
        self.addCleanup(self.bench.stop)

    def refused(self, name, *args):
        child = self.bench.start(name, *args)
        self.assertNotEqual(child.wait(30), 0)
        return self.bench.log(name)

    def test_sigterm(self):
        bench = self.bench
        coordinator = bench.start_coordinator()
        agent = bench.start_agent('a')
        agent.terminate()
        self.assertEqual(agent.wait(20), 0)
        coordinator.terminate()
        self.assertEqual(coordinator.wait(20), 0)
        # A read-only shell can read the database after a clean stop too.
        done = subprocess.run(
            [
                'sqlite3',
                '-readonly',
                os.path.join(bench.folder, 'assay.db'),
                'select node, attached from nodes',
            ],
            capture_output=True,
            text=True,
            check=True,
        )
        self.assertEqual(done.stdout, 'a|0\n')

    def test_sigterm_waits_for_the_op_and_a_second_one_does_not(self):
        bench = self.bench
        bench.start_coordinator()
        agent = bench.start_agent('a', '--sim-op-ms=1500')
        bench.apply('job', {'a': [0, 1]})
        run = str(json.loads(bench.run('stress', 'job', '--detach', '--json').stdout)['run'])
        until('the test', lambda: bench.begun('a', run) == 2)
        agent.terminate()
        self.assertEqual(agent.wait(30), 0)
        shown = json.loads(bench.run('run', 'show', run, '--json').stdout)
        results = {(r['rank'], r['op']): (r['outcome'], r['detail']) for r in shown['results']}
        self.assertEqual(results[0, 'aic'][0], 'ok')
        self.assertEqual(results[0, 'p2p'], ('not_run', 'agent is stopping'))

        agent = bench.start_agent('a', '--sim-op-ms=60000')
        run = str(json.loads(bench.run('stress', 'job', '--detach', '--json').stdout)['run'])
        until('the test', lambda: bench.begun('a', run) == 2)
        agent.terminate()
        time.sleep(0.5)
        self.assertIsNone(agent.poll())
        agent.terminate()
        self.assertEqual(agent.wait(30), 0)
        shown = json.loads(bench.run('run', 'show', run, '--json').stdout)
        self.assertEqual({r['outcome'] for r in shown['results']}, {'not_run'})

    def test_second_instances_are_refused(self):
        bench = self.bench
        bench.start_coordinator()
        bench.start_agent('a')
        database = os.path.join(bench.folder, 'assay.db')
        text = self.refused(
            'same-db',
            '--role=coordinator',
            '--listen=127.0.0.1:0',
            '--db=' + database,
            '--port-file=' + os.path.join(bench.folder, 'p2'),
        )
        self.assertIn(database, text)
        text = self.refused(
            'same-port',
            '--role=coordinator',
            '--listen=' + bench.address,
            '--db=' + os.path.join(bench.folder, 'other.db'),
            '--port-file=' + os.path.join(bench.folder, 'p3'),
        )
        self.assertIn(bench.address, text)
        state = os.path.join(bench.folder, 'agent-a')
        text = self.refused(
            'same-state',
            '--role=agent',
            '--driver=sim',
            '--node=b',
            '--state-dir=' + state,
            '--coordinator=' + bench.address,
        )
        self.assertIn(state, text)
        self.assertEqual(bench.run('node', 'list').returncode, 0)

    def test_beyond_loopback_only_on_demand(self):
        text = self.refused(
            'open',
            '--role=coordinator',
            '--listen=0.0.0.0:0',
            '--db=' + os.path.join(self.bench.folder, 'x.db'),
        )
        self.assertIn('--insecure', text)

    def test_databases_that_are_not_ours(self):
        folder = self.bench.folder
        newer, foreign, junk = (
            os.path.join(folder, name) for name in ('newer.db', 'foreign.db', 'junk.db')
        )
        with sqlite3.connect(foreign) as connection:
            connection.execute('create table theirs (x)')
        connection.close()
        with open(junk, 'wb') as file:
            file.write(b'no database' * 1000)
        self.bench.start_coordinator().kill()
        self.bench.children[-1].wait()
        os.rename(os.path.join(folder, 'assay.db'), newer)
        for tail in ('-wal', '-shm'):
            if os.path.exists(os.path.join(folder, 'assay.db' + tail)):
                os.rename(os.path.join(folder, 'assay.db' + tail), newer + tail)
        with sqlite3.connect(newer) as connection:
            connection.execute('pragma user_version = 9999')
        connection.close()
        for file in (newer, foreign, junk):
            with open(file, 'rb') as opened:
                before = opened.read()
            text = self.refused(
                os.path.basename(file),
                '--role=coordinator',
                '--listen=127.0.0.1:0',
                '--db=' + file,
                '--port-file=' + os.path.join(folder, 'p'),
            )
            self.assertIn(file, text)
            with open(file, 'rb') as opened:
                self.assertEqual(opened.read(), before, file)

    def test_flags_from_a_file_and_the_environment(self):
        bench = self.bench
        config = os.path.join(bench.folder, 'assay.conf')
        with open(config, 'w', encoding='utf-8') as file:
            file.write(
                'role = "coordinator"\nlisten = "127.0.0.1:0"\n'
                f'db = "{bench.folder}/assay.db"\naic-deadline = "7s"\n'
            )
        port = os.path.join(bench.folder, 'port')
        child = subprocess.Popen(
            [BINARY, '--config', config],
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env={**os.environ, 'ASSAY_PORT_FILE': port},
        )
        bench.children.append(child)
        self.addCleanup(child.stderr.close)
        until('the port file', lambda: os.path.exists(port))
        with open(config, 'a', encoding='utf-8') as file:
            file.write('no-such-flag = "1"\n')
        done = plain('--config', config)
        self.assertEqual(done.returncode, 1)
        self.assertIn('no-such-flag', done.stderr)

    def test_both_roles_in_one_process(self):
        bench = self.bench
        port = os.path.join(bench.folder, 'port')
        child = bench.start(
            'both',
            '--role=coordinator,agent',
            '--listen=127.0.0.1:0',
            '--port-file=' + port,
            '--db=' + os.path.join(bench.folder, 'assay.db'),
            '--node=edge',
            '--driver=sim',
            '--sim-op-ms=10',
            '--state-dir=' + os.path.join(bench.folder, 'agent'),
        )
        until('the port file', lambda: os.path.exists(port))
        with open(port, encoding='utf-8') as file:
            bench.address = file.read().strip()
        until('the agent', lambda: '"attached"' in bench.run('node', 'list', '--json').stdout)
        bench.apply('job', {'edge': [0, 1]})
        done = bench.run('stress', 'job')
        self.assertEqual(done.returncode, 0, done.stderr + done.stdout)
        child.terminate()
        self.assertEqual(child.wait(30), 0)


if __name__ == '__main__':
    unittest.main(verbosity=1)
