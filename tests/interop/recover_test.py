"""The stress test interface as platforms and training agents use it, with grpcio.

Also sends malformed and oversized input, which must not harm the server.
"""
import json
import os
import socket
import sys
import unittest

import grpc

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../support'))
from harness import Bench, pb, until


def stress(job, nodes):
    return pb.StressTestParam(
        jobID=job, stressParam={n: pb.StressOpList(ops=ops) for n, ops in nodes.items()}
    )


def reply(job, ranks):
    """A reply of a training agent; ranks: {rank: {op: (code, text)}}."""
    return pb.StressTestResult(
        jobId=job,
        stressResult={
            str(rank): pb.StressTestRankResult(
                rankResult={
                    str(op): pb.StressTestOpResult(code=code, result=text)
                    for op, (code, text) in ops.items()
                }
            )
            for rank, ops in ranks.items()
        },
    )


OK = ('0', 'OK')


class Suite(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.bench = Bench()
        cls.addClassCleanup(cls.bench.stop)
        cls.coordinator = cls.bench.start_coordinator('--reply-quiet=0s')

    def status(self, request, method='StressTest'):
        answer = self.bench.call(method, request)
        return answer.code, answer.info


class Interface(Suite):
    def test_the_whole_way(self):
        bench = self.bench
        bench.apply('whole', {'w-a': [0, 1]})
        taskd = bench.executor('whole')
        self.assertEqual(
            self.status(stress('whole', {'w-a': [0, 1]})),
            (0, 'stress test operation was successfully distributed'),
        )
        result = bench.listen('SubscribeStressTestResponse', pb.StressTestRequest(jobID='whole'))
        until('the notification', lambda: taskd.messages)
        told = {rank: list(ops.ops) for rank, ops in taskd.messages[0].stressParam.items()}
        self.assertEqual(told, {'0': [0, 1], '1': [0, 1]})
        self.assertEqual(taskd.messages[0].jobId, 'whole')
        for _ in range(3):  # TaskD repeats a reply that got no answer
            self.assertEqual(
                self.status(reply('whole', {0: {0: OK, 1: OK}}), 'ReplyStressTestResult')[0], 0
            )
        self.assertEqual(
            self.status(
                reply('whole', {1: {0: ('3', 'exec timeout'), 1: ('1', 'a-b,c')}}),
                'ReplyStressTestResult',
            ),
            (0, 'reply success'),
        )
        self.assertEqual(result.end(), (grpc.StatusCode.OK, ''))
        late = bench.listen('SubscribeStressTestResponse', pb.StressTestRequest(jobID='whole'))
        self.assertEqual(late.end(), (grpc.StatusCode.OK, ''))
        for heard in (result, late):
            self.assertEqual(len(heard.messages), 1)
            msg = heard.messages[0].msg
            self.assertTrue(
                msg.startswith('stress test timeout fault, faultRank:[1],result:{'), msg
            )
            self.assertEqual(
                json.loads(msg[msg.index('result:') + 7 :])['w-a']['1'],
                {
                    'rankResult': {
                        '0': {'code': '3', 'result': 'exec timeout'},
                        '1': {'code': '1', 'result': 'a-b,c'},
                    }
                },
            )
        taskd.close()

    def test_agents_execute_what_was_planned(self):
        bench = self.bench
        bench.start_agent('s-a', '--sim-op-ms=10', '--sim=1:p2p=faulty')
        bench.apply('sim', {'s-a': [0, 1, 2]})
        self.assertEqual(self.status(stress('sim', {'s-a': [0, 1]}))[0], 0)
        heard = bench.listen('SubscribeStressTestResponse', pb.StressTestRequest(jobID='sim'))
        self.assertEqual(heard.end(60)[0], grpc.StatusCode.OK)
        msg = heard.messages[0].msg
        self.assertTrue(
            msg.startswith('stress test find fault, isolate node:map[s-a:{}],result:{'), msg
        )
        devices = json.loads(msg[msg.index('result:') + 7 :])['s-a']
        self.assertEqual(
            {d: r['rankResult']['1']['code'] for d, r in devices.items()},
            {'0': '0', '1': '2', '2': '0'},
        )

    def test_health_and_reflection_answer(self):
        with self.bench.channel() as channel:
            health = channel.unary_unary('/grpc.health.v1.Health/Check')(b'', timeout=20)
            self.assertEqual(health, b'\x08\x01')  # SERVING
            ask = channel.stream_stream(
                '/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo'
            )
            services = next(iter(ask(iter([b'\x3a\x00']), timeout=20)))  # list_services: ""
            for name in (
                b'Recover',
                b'assay.admin.Admin',
                b'assay.fleet.Fleet',
                b'grpc.health.v1.Health',
            ):
                self.assertIn(name, services)

    def test_what_is_not_built_yet_says_so(self):
        for method in ('Init', 'Register', 'HealthCheck'):
            self.assertEqual(
                self.bench.refused(method, pb.ClientInfo(jobId='x', role='taskd'))[0],
                grpc.StatusCode.UNIMPLEMENTED,
            )


class BadInput(Suite):
    """Bad input gets a clear error; no run starts and memory does not grow."""

    def memory_kib(self):
        with open(f'/proc/{self.coordinator.pid}/status', encoding='utf-8') as file:
            return next(int(line.split()[1]) for line in file if line.startswith('VmRSS'))

    def setUp(self):
        self.bench.apply('bad', {'b-a': [0, 1]})
        self.before = self.bench.run('run', 'list', '--json').stdout

    def tearDown(self):
        self.assertIsNone(self.coordinator.poll(), self.bench.log('coordinator'))
        self.assertEqual(self.bench.run('run', 'list', '--json').stdout, self.before)

    def refused_shortly(self, request, method='StressTest', codes=(413,)):
        answer = self.bench.call(method, request)
        self.assertIn(answer.code, codes, answer.info)
        self.assertLess(len(answer.info.encode()), 1024)
        self.assertTrue(answer.info.isprintable(), answer.info)
        return answer.info

    def test_ids_that_are_none(self):
        for job in ('', 'x' * 10_000, 'a\x1b[31mb\n', '\u202e\U0001f600', 'bad '):
            self.refused_shortly(stress(job, {'b-a': [0]}))
            self.refused_shortly(reply(job, {0: {0: OK}}), 'ReplyStressTestResult', (400, 413))
            for method in ('SubscribeNotifyExecStressTest', 'SubscribeStressTestResponse'):
                request = (
                    pb.ClientInfo(jobId=job)
                    if 'Notify' in method
                    else pb.StressTestRequest(jobID=job)
                )
                code, text = self.bench.listen(method, request).end()
                self.assertIn(code, (grpc.StatusCode.NOT_FOUND, grpc.StatusCode.INVALID_ARGUMENT))
                self.assertLess(len(text.encode()), 1024)

    def test_bytes_that_are_no_text(self):
        # Field 1 with two bytes that are not UTF-8; then byte strings that are not a message.
        for raw in (b'\x0a\x02\xff\xfe', b'\xff' * 100, b'\x0a\xff\xff\xff\xff\x0f'):
            for method in ('StressTest', 'ReplyStressTestResult'):
                code, text = self.bench.refused(method, raw)
                self.assertIn(code, (grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.INTERNAL))
                self.assertLess(len(text.encode()), 1024)

    def test_large_maps_and_memory(self):
        many = stress('bad', {f'node-{i}': [0] for i in range(100_000)})
        wide = stress('bad', {'b-a': [0, 1] + [0] * 100_000})
        replies = reply('bad', {i: {0: OK} for i in range(100_000)})
        for turn in range(8):
            self.refused_shortly(many)
            self.refused_shortly(wide)
            self.refused_shortly(replies, 'ReplyStressTestResult', (0,))
            if turn == 4:
                settled = self.memory_kib()
        self.assertLess(self.memory_kib(), settled + 32 * 1024)

    def test_messages_over_the_limit(self):
        code, text = self.bench.refused('StressTest', stress('x' * (17 << 20), {}))
        self.assertEqual(code, grpc.StatusCode.RESOURCE_EXHAUSTED)
        self.assertLess(len(text), 1024)

    def test_garbage_instead_of_http(self):
        host, port = self.bench.address.rsplit(':', 1)
        for junk in (
            b'GET / HTTP/1.1\r\n\r\n',
            os.urandom(4096),
            b'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n' + b'\xff' * 1000,
            b'',
        ):
            with socket.create_connection((host, int(port)), timeout=20) as connection:
                connection.sendall(junk)
        self.refused_shortly(stress('nobody', {'b-a': [0]}))

    def test_ops_that_are_none(self):
        for ops in ([2], [-1], [1 << 40], [0, 0], []):
            self.refused_shortly(stress('bad', {'b-a': ops}))


if __name__ == '__main__':
    unittest.main(verbosity=1)
