"""Job signals as platforms use them (job.Job), with grpcio.

job_test.mjs has the same cases under the same names.
"""
import json
import os
import re
import sys
import time
import unittest
from concurrent.futures import ThreadPoolExecutor

import grpc

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../support'))
from harness import Bench, job_pb, rank_table, until

SINGLE = 'job.Job/SubscribeJobSummarySignal'
LIST = 'job.Job/SubscribeJobSummarySignalList'
ROLES = ('CCAgent', 'DefaultUser1', 'DefaultUser2', 'FdAgent')
UUID4 = re.compile(r'[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}')
SECONDS = re.compile(r'\d{10}')
INITIALIZING = '{"status":"initializing"}'
PAGE_BYTES_MAX = (4 << 20) - (64 << 10)


def told(signal):
    return f'{signal.operator} {signal.jobStatus}'


def client_of(role, client=''):
    return job_pb.ClientInfo(role=role, clientId=client)


def large_table(size):
    """A rank table of roughly the given size."""
    return rank_table({f'node-{i}': range(8) for i in range(size // 700 + 1)})


class Follower:
    """A stream of either method, and the signals it received for one job, as "operator state"."""

    def __init__(self, bench, method=SINGLE, role='CCAgent', client=None):
        self.client = client or bench.call('job.Job/Register', client_of(role)).clientId
        self.heard = bench.listen(method, client_of(role, self.client))
        self.is_list = method == LIST
        # The server sends the metadata once the stream is subscribed.
        self.heard.accepted()

    def signals(self):
        messages = list(self.heard.messages)
        if not self.is_list:
            return messages
        return [signal for message in messages for signal in message.jobSummarySignals]

    def of(self, job):
        return [signal for signal in self.signals() if signal.jobId == job]

    def told(self, job):
        return [told(signal) for signal in self.of(job)]

    def hears(self, job, expected, seconds=20):
        """Waits until the job's last signal is the expected one."""

        def last():
            signals = self.of(job)
            return signals[-1] if signals and told(signals[-1]) == expected else None

        return until(f'{expected} of {job}', last, seconds)

    def close(self):
        self.heard.close()


class Suite(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.bench = Bench()
        cls.addClassCleanup(cls.bench.stop)
        cls.coordinator = cls.bench.start_coordinator()

    def another(self, *flags):
        """A separate coordinator for one test case, and its bench."""
        bench = Bench()
        self.addCleanup(bench.stop)
        return bench, bench.start_coordinator(*flags)

    def follow(self, bench=None, **how):
        follower = Follower(bench or self.bench, **how)
        self.addCleanup(follower.close)
        return follower

    def register(self, role, bench=None):
        return (bench or self.bench).call('job.Job/Register', client_of(role))

    def ended(self, method, request, bench=None):
        """The final status of a stream that the server refuses."""
        heard = (bench or self.bench).listen(method, request)
        try:
            return heard.end()
        finally:
            heard.close()

    def set_state(self, job, state, bench=None):
        done = (bench or self.bench).run('job', 'status', job, state)
        self.assertEqual(done.returncode, 0, done.stderr)

    def remove(self, job, bench=None):
        done = (bench or self.bench).run('job', 'delete', job)
        self.assertEqual(done.returncode, 0, done.stderr)


class Clients(Suite):
    def test_register_gives_each_role_an_id(self):
        ids = set()
        for role in ROLES + ROLES:
            answer = self.register(role)
            self.assertEqual((answer.code, answer.info), (200, 'registration successful'))
            self.assertRegex(answer.clientId, f'^{UUID4.pattern}$')
            ids.add(answer.clientId)
        self.assertEqual(len(ids), 8)

    def test_a_role_that_is_not_in_the_whitelist_is_refused(self):
        for role in ('somebody', 'ccagent', ''):
            self.assertEqual(
                self.bench.refused('job.Job/Register', client_of(role)),
                (grpc.StatusCode.PERMISSION_DENIED, f'role:{role} is not in whitelist'),
            )

    def test_subscribing_with_an_unknown_id_is_refused(self):
        for method in (SINGLE, LIST):
            self.assertEqual(
                self.ended(method, client_of('CCAgent', 'nobody')),
                (
                    grpc.StatusCode.NOT_FOUND,
                    'invalid clientId: nobody, please register first',
                ),
            )

    def test_subscribing_with_another_role_is_refused(self):
        client = self.register('CCAgent').clientId
        for method in (SINGLE, LIST):
            self.assertEqual(
                self.ended(method, client_of('FdAgent', client)),
                (
                    grpc.StatusCode.PERMISSION_DENIED,
                    'invalid role: FdAgent, please check role first',
                ),
            )

    def test_a_newer_stream_of_an_id_replaces_the_older_one(self):
        for earlier, later in ((SINGLE, SINGLE), (LIST, LIST), (SINGLE, LIST)):
            older = self.follow(method=earlier)
            newer = self.follow(method=later, client=older.client)
            code, text = older.heard.end()
            self.assertEqual(code, grpc.StatusCode.ABORTED)
            self.assertIn('newer subscription', text)
            self.bench.apply('replaced', {'r-a': [0]})
            newer.hears('replaced', 'add running')
            self.remove('replaced')
            newer.hears('replaced', 'delete failed')

    def test_of_many_streams_of_an_id_one_stays(self):
        client = self.register('CCAgent').clientId
        many = [
            self.bench.listen(LIST if i % 2 else SINGLE, client_of('CCAgent', client))
            for i in range(10)
        ]
        for heard in many:
            self.addCleanup(heard.close)
        until('nine ends', lambda: sum(heard.over() for heard in many) == 9)
        self.bench.apply('one-stays', {'o-a': [0]})

        def has(heard):
            return any(
                signal.jobId == 'one-stays'
                for message in list(heard.messages)
                for signal in getattr(message, 'jobSummarySignals', [message])
            )

        until('one signal', lambda: sum(has(heard) for heard in many) == 1)
        ends = [heard.end()[0] for heard in many if heard.over()]
        self.assertEqual(ends, 9 * [grpc.StatusCode.ABORTED])

    def test_an_id_may_be_used_again_after_its_stream_ended(self):
        older = self.follow()
        older.heard.call.cancel()
        self.assertEqual(older.heard.end()[0], grpc.StatusCode.CANCELLED)
        older.close()
        self.bench.apply('again', {'a-a': [0]})
        newer = self.follow(client=older.client, method=LIST)
        newer.hears('again', 'add running')

    def test_the_limit_of_subscriptions_is_answered(self):
        bench, _ = self.another('--subscriptions-max=2')
        ids = [(role, self.register(role, bench).clientId) for role in ROLES[:3]]
        first = self.follow(bench, role=ids[0][0], client=ids[0][1])
        second = self.follow(bench, role=ids[1][0], client=ids[1][1], method=LIST)
        for method in (SINGLE, LIST):
            code, text = self.ended(method, client_of(*ids[2]), bench)
            self.assertEqual(code, grpc.StatusCode.RESOURCE_EXHAUSTED)
            self.assertRegex(text, '^2 subscriptions are open.*--subscriptions-max')
        answer = self.register('CCAgent', bench)
        self.assertEqual((answer.code, answer.clientId), (429, ''))
        self.assertIn('2', answer.info)
        # An id may always replace its own subscription; a closed subscription frees its place.
        self.follow(bench, role=ids[0][0], client=ids[0][1])
        self.assertEqual(first.heard.end()[0], grpc.StatusCode.ABORTED)
        second.close()
        until('a place', lambda: self.register('CCAgent', bench).code == 200)
        self.follow(bench, role=ids[2][0], client=ids[2][1])


class Signals(Suite):
    def test_first_every_present_job_and_those_deleted_lately(self):
        bench = self.bench
        bench.apply('present-1', {'f-a': [0]})
        bench.apply('present-2', INITIALIZING)
        bench.apply('present-3', {'f-b': [0]})
        self.set_state('present-3', 'failed')
        bench.apply('gone', {'f-c': [0]})
        self.remove('gone')
        for method in (SINGLE, LIST):
            follower = self.follow(method=method)
            gone = follower.hears('gone', 'delete failed')  # the last change
            self.assertEqual(follower.told('present-1'), ['add running'])
            self.assertEqual(follower.told('present-2'), ['add pending'])
            self.assertEqual(follower.told('present-3'), ['add failed'])
            self.assertRegex(gone.deleteTime, SECONDS)
            self.assertRegex(follower.of('present-3')[-1].deleteTime, SECONDS)

    def check_fields(self, signal, job, since):
        self.assertEqual(
            (signal.jobId, signal.jobName, signal.namespace, signal.frameWork),
            (job, 'Training 7', 'team', 'pytorch'),
        )
        self.assertEqual((signal.cmIndex, signal.total, signal.sid), ('0', '1', ''))
        self.assertRegex(signal.uuid, f'^{UUID4.pattern}$')
        self.assertRegex(signal.time, f'^{SECONDS.pattern}$')
        self.assertGreaterEqual(int(signal.time), since - 1)
        self.assertLessEqual(int(signal.time), int(time.time()) + 1)
        if signal.jobStatus in ('complete', 'failed') or signal.operator == 'delete':
            self.assertRegex(signal.deleteTime, f'^{SECONDS.pattern}$')
            self.assertGreaterEqual(int(signal.deleteTime), int(signal.time))
        else:
            self.assertEqual(signal.deleteTime, '')

    def test_then_every_change_in_its_order(self):
        for method in (SINGLE, LIST):
            job = 'change-list' if method == LIST else 'change-single'
            follower = self.follow(method=method)
            since = int(time.time())
            named = ('--name=Training 7', '--namespace=team', '--framework=pytorch')
            self.bench.apply(job, INITIALIZING, *named)
            self.bench.apply(job, {'c-a': [0, 1], 'c-b': [4]}, '--status=running', *named)
            self.set_state(job, 'complete')
            self.set_state(job, 'failed')
            self.set_state(job, 'running')
            self.bench.apply(job, {'c-c': [7]}, *named)
            self.remove(job)
            follower.hears(job, 'delete failed')
            signals = follower.of(job)
            self.assertEqual(
                [told(signal) for signal in signals],
                ['add pending', 'add running', 'add complete', 'add failed', 'add running']
                + ['add running', 'delete failed'],
            )
            for signal in signals:
                self.check_fields(signal, job, since)
            self.assertEqual(len({signal.uuid for signal in signals}), len(signals))
            self.assertEqual(len({signal.time for signal in signals}), 1)
            self.assertEqual(signals[0].HcclJson, INITIALIZING)
            table = json.loads(signals[1].HcclJson)
            self.assertEqual(
                (table['status'], table['server_count'], table['version']), ('complete', '2', '1.0')
            )
            self.assertEqual(
                [
                    (
                        server['server_id'],
                        server['server_name'],
                        [(device['device_id'], device['rank_id']) for device in server['device']],
                    )
                    for server in table['server_list']
                ],
                [
                    ('192.0.2.1', 'c-a', [('0', '0'), ('1', '1')]),
                    ('192.0.2.2', 'c-b', [('4', '2')]),
                ],
            )
            self.assertEqual(signals[4].HcclJson, signals[1].HcclJson)
            changed = json.loads(signals[5].HcclJson)
            self.assertEqual([one['server_name'] for one in changed['server_list']], ['c-c'])

    def test_the_same_state_again_is_no_signal(self):
        self.bench.apply('same', {'s-a': [0]})
        follower = self.follow()
        follower.hears('same', 'add running')
        self.set_state('same', 'running')
        self.bench.apply('same', {'s-a': [0]})
        self.set_state('same', 'running')
        self.set_state('same', 'complete')
        self.set_state('same', 'complete')
        self.remove('same')
        follower.hears('same', 'delete complete')
        self.assertEqual(follower.told('same'), ['add running', 'add complete', 'delete complete'])

    def test_deleted_and_applied_again_are_two_lives(self):
        followers = [self.follow(), self.follow(method=LIST)]
        self.bench.apply('lives', {'l-a': [0]})
        for _ in range(3):
            self.remove('lives')
            self.bench.apply('lives', {'l-a': [0]})
        self.set_state('lives', 'complete')
        for follower in followers:
            follower.hears('lives', 'add complete')
            self.assertEqual(
                follower.told('lives'),
                3 * ['add running', 'delete failed'] + ['add running', 'add complete'],
            )

    def test_the_network_of_the_training_is_told_for_pytorch(self):
        follower = self.follow()
        network = ('--master-addr=192.0.2.9', '--shared-tor-ip=198.51.100.9')
        for job, framework, expected in (
            ('torch', 'pytorch', ('192.0.2.9', '198.51.100.9')),
            ('spore', 'mindspore', ('', '')),
        ):
            self.bench.apply(job, {job: [0]}, '--framework=' + framework, *network)
            signal = follower.hears(job, 'add running')
            self.assertEqual(signal.frameWork, framework)
            self.assertEqual((signal.masterAddr, signal.sharedTorIp), expected)

    def test_every_subscriber_gets_the_same_bytes_and_both_methods_the_same_signals(self):
        singles = [self.follow(role=role) for role in ROLES]
        lists = [self.follow(method=LIST, role=role) for role in ROLES]
        self.bench.apply('bytes', {'y-a': [0, 1]}, '--name=\u8bad\u7ec3 \U0001f600')
        for _ in range(5):
            self.set_state('bytes', 'complete')
            self.set_state('bytes', 'running')
        self.remove('bytes')

        def bytes_of(follower):
            for message, raw in zip(follower.heard.messages, follower.heard.bytes):
                # Without the snapshot of a list, which is serialised for each subscriber.
                if follower.is_list and message.JobTotalNum != 1:
                    continue
                signal = message.jobSummarySignals[0] if follower.is_list else message
                if signal.jobId == 'bytes':
                    yield raw

        for group in (singles, lists):
            for follower in group:
                follower.hears('bytes', 'delete failed')
            first = list(bytes_of(group[0]))
            self.assertEqual(len(first), 12)
            for follower in group:
                self.assertEqual(list(bytes_of(follower)), first)
        self.assertEqual(lists[0].of('bytes'), singles[0].of('bytes'))
        uuids = [signal.uuid for signal in singles[0].signals()]
        self.assertEqual(len(set(uuids)), len(uuids))
        self.assertEqual(singles[0].of('bytes')[0].jobName, '\u8bad\u7ec3 \U0001f600')


class Large(Suite):
    def test_lists_are_paged_and_later_changes_are_lists_of_one(self):
        bench, _ = self.another()
        names = {f'job-{i}' for i in range(200)}
        table = large_table(60_000)
        with ThreadPoolExecutor(8) as pool:
            for _ in pool.map(lambda name: bench.apply(name, table), names):
                pass
        follower = self.follow(bench, method=LIST)
        until('all jobs', lambda: len(follower.signals()) == len(names))
        pages = list(follower.heard.messages)
        self.assertGreater(len(pages), 2)
        for raw in follower.heard.bytes:
            self.assertLessEqual(len(raw), PAGE_BYTES_MAX)
        self.assertEqual({page.JobTotalNum for page in pages}, {len(names)})
        self.assertEqual(len({page.ReportTime for page in pages}), 1)
        self.assertRegex(pages[0].ReportTime, r'^\d{13}$')
        self.assertEqual({signal.jobId for signal in follower.signals()}, names)
        self.set_state('job-7', 'complete', bench)
        follower.hears('job-7', 'add complete')
        self.remove('job-8', bench)
        follower.hears('job-8', 'delete failed')
        later = follower.heard.messages[len(pages) :]
        self.assertEqual(
            [(one.JobTotalNum, len(one.jobSummarySignals)) for one in later], [(1, 1), (1, 1)]
        )
        for one in later:
            self.assertGreaterEqual(int(one.ReportTime), int(pages[0].ReportTime))

    def test_a_table_too_large_for_a_message_is_left_out(self):
        followers = [self.follow(), self.follow(method=LIST)]
        table = large_table(5_700_000)
        self.assertGreater(len(table), 4 << 20)
        self.bench.apply('large', table)
        for follower in followers:
            self.assertEqual(follower.hears('large', 'add running').HcclJson, '')
        # Also among others, in a snapshot.
        followers.append(self.follow(method=LIST))
        self.assertEqual(followers[-1].hears('large', 'add running').HcclJson, '')
        self.bench.apply('large', {'g-a': [0]})
        for follower in followers:
            until('the small table', lambda: 'g-a' in follower.of('large')[-1].HcclJson)
        self.remove('large')

    def burst(self, jobs, table):
        """Makes two thousand changes; meanwhile deletes one job and applies it again."""
        states = ('pending', 'running', 'complete', 'failed')
        for part in range(4):
            lines = (f'{jobs[i % 20]} {states[(i + i // 20 + part) % 4]}\n' for i in range(500))
            done = self.bench.run('job', 'status', '--stdin', text=''.join(lines))
            self.assertEqual(done.returncode, 0, done.stderr)
            if part == 1:
                self.remove(jobs[1])
                self.bench.apply(jobs[1], table)

    def test_a_paused_reader_ends_with_the_truth(self):
        bench = self.bench
        jobs = [f'paused-{i}' for i in range(20)]
        table = large_table(20_000)
        for job in jobs:
            bench.apply(job, table)
        quick = self.follow()
        slow = [self.follow(), self.follow(method=LIST)]
        for follower in slow:
            follower.hears(jobs[-1], 'add running')  # each job was seen
            follower.heard.pause()
        self.burst(jobs, table)
        for job in (jobs[0], jobs[5]):
            self.remove(job)
        bench.apply('paused-last', {'p-z': [0]})
        quick.hears('paused-last', 'add running')
        for follower in slow:
            follower.heard.resume()
        truth = {
            job['id']: 'add ' + job['state']
            for job in json.loads(bench.run('job', 'list', '--json').stdout)
        }
        for follower in [quick, *slow]:
            follower.hears('paused-last', 'add running', 60)
            for job in jobs:
                last = follower.told(job)[-1]
                if job in (jobs[0], jobs[5]):
                    self.assertRegex(last, '^delete ')
                else:
                    self.assertEqual(last, truth[job], job)
            ends = [one for one in follower.told(jobs[1]) if one.startswith('delete')]
            self.assertEqual(len(ends), 1)
            uuids = [signal.uuid for signal in follower.signals()]
            self.assertEqual(len(set(uuids)), len(uuids))
        # The slow followers got conflated signals, and the quick one was not delayed.
        for follower in slow:
            self.assertLess(len(follower.signals()), len(quick.signals()))


class Trouble(Suite):
    def test_after_a_kill_the_old_id_is_unknown_and_the_truth_comes_again(self):
        bench, coordinator = self.another()
        jobs = ('stays', 'ends', 'goes')
        for job in jobs:
            bench.apply(job, {'k-a': [0], 'k-b': [1]})
        old = self.follow(bench)
        self.set_state('ends', 'failed', bench)
        self.remove('goes', bench)
        old.hears('goes', 'delete failed')
        coordinator.kill()
        coordinator.wait()
        self.assertEqual(old.heard.end()[0], grpc.StatusCode.UNAVAILABLE)
        bench.start_coordinator(listen=bench.address)
        for method in (SINGLE, LIST):
            self.assertEqual(
                self.ended(method, client_of('CCAgent', old.client), bench),
                (
                    grpc.StatusCode.NOT_FOUND,
                    f'invalid clientId: {old.client}, please register first',
                ),
            )
            back = self.follow(bench, method=method)
            until('all three', lambda: len(back.signals()) == 3)
            self.assertEqual(
                [back.told(job) for job in jobs],
                [['add running'], ['add failed'], ['delete failed']],
            )
            for job in jobs:
                then, now = old.of(job)[-1], back.of(job)[-1]
                self.assertNotEqual(now.uuid, then.uuid)
                now.uuid = then.uuid
                self.assertEqual(now, then)

    def short(self, ended, expected):
        code, text = ended
        self.assertEqual(code, expected, text)
        self.assertLess(len(text.encode()), 1024)
        self.assertNotRegex(text, '[\x00-\x1f\x7f-\x9f]')

    def test_bad_input_is_refused_and_hurts_nobody(self):
        follower = self.follow()
        for role in ('', 'a\x1b[31mb\n', 'x' * 10_000, '\u202e\U0001f600'):
            denied = grpc.StatusCode.PERMISSION_DENIED
            self.short(self.bench.refused('job.Job/Register', client_of(role)), denied)
            for method in (SINGLE, LIST):
                unknown = self.ended(method, client_of('CCAgent', role))
                self.short(unknown, grpc.StatusCode.NOT_FOUND)
                self.short(self.ended(method, client_of(role, follower.client)), denied)
        # A role that is not UTF-8; two byte strings that are not a message; one that is too long.
        for raw in (
            b'\x0a\x02\xff\xfe',
            b'\xff' * 100,
            b'\x0a\xff\xff\xff\xff\x0f',
            b'\n' * 100_000,
        ):
            invalid = grpc.StatusCode.INVALID_ARGUMENT
            self.short(self.bench.refused('job.Job/Register', raw), invalid)
            for method in (SINGLE, LIST):
                self.short(self.ended(method, raw), invalid)
        self.assertIsNone(self.coordinator.poll(), self.bench.log('coordinator'))
        self.bench.apply('after-junk', {'j-a': [0]})
        follower.hears('after-junk', 'add running')


if __name__ == '__main__':
    unittest.main(verbosity=1)
