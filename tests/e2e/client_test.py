"""The client commands and a coordinator that is away, does not answer or sends hostile texts."""
import json
import os
import pty
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unicodedata
import unittest
from concurrent import futures

import grpc

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '../support'))
from harness import BINARY, Bench, job_pb, rank_table, until
from watch_jobs_test import Terminal

# Required is one second. The rest is for a machine that does other work as well.
SOON = 2.5


def admin_messages():
    folder = tempfile.mkdtemp(prefix='assay-proto-')
    try:
        subprocess.run(
            ['protoc', '--proto_path=' + os.path.join(HERE, '../../proto')]
            + ['--python_out=' + folder, 'admin.proto'],
            check=True,
        )
        sys.path.insert(0, folder)
        import admin_pb2

        return admin_pb2
    finally:
        shutil.rmtree(folder)


admin_pb = admin_messages()

# An escape sequence, C1 (U+009B begins one, too), a change of the writing direction, DEL, and a
# line that looks like another message.
HOSTILE = 'a\x1b[2J\x9b2K\u202eb\x7f\r\nassay: all is well\tc'
# Fields that commands follow.
FOLLOWED = {'more': False, 'next_rank': -1, 'index': 0}


def hostile(message):
    for field in message.DESCRIPTOR.fields:
        repeated = field.label == field.LABEL_REPEATED
        if field.message_type:
            one = getattr(message, field.name)
            hostile(one.add() if repeated else one)
            continue
        value = HOSTILE if field.type == field.TYPE_STRING else FOLLOWED.get(field.name, 1)
        if repeated:
            getattr(message, field.name).append(value)
        else:
            setattr(message, field.name, value)
    return message


class HostileCoordinator(grpc.GenericRpcHandler):
    """Answers every call with hostile texts in every field, or refuses it with one."""

    def __init__(self, refuses):
        self._refuses = refuses
        self._server = grpc.server(futures.ThreadPoolExecutor(4), handlers=[self])
        self.address = f'127.0.0.1:{self._server.add_insecure_port("127.0.0.1:0")}'
        self._server.start()

    def stop(self):
        self._server.stop(None)

    def service(self, details):
        service, name = details.method.split('/')[1:]
        messages = job_pb if service == 'job.Job' else admin_pb
        method = messages.DESCRIPTOR.services_by_name[service.split('.')[-1]].methods_by_name[name]
        answer = hostile(getattr(messages, method.output_type.name)())
        if name == 'Register':
            answer.code, answer.clientId = 200, 'id'

        def call(_, context):
            if self._refuses:
                context.abort(grpc.StatusCode.INVALID_ARGUMENT, HOSTILE)
            return answer

        def stream(_, context):
            yield call(_, context)

        if name.startswith('Subscribe'):
            return grpc.unary_stream_rpc_method_handler(
                stream, response_serializer=lambda m: m.SerializeToString()
            )
        return grpc.unary_unary_rpc_method_handler(
            call, response_serializer=lambda m: m.SerializeToString()
        )


COMMANDS = (
    ['job', 'apply', 'x', '--rank-table=-'],
    ['job', 'status', 'x', 'running'],
    ['job', 'status', '--stdin'],
    ['job', 'list'],
    ['job', 'show', 'x'],
    ['job', 'delete', 'x'],
    ['stress', 'x'],
    ['stress', 'x', '--check'],
    ['stress', 'x', '--detach'],
    ['run', 'list'],
    ['run', 'show', '1'],
    ['run', 'cancel', '1'],
    ['node', 'list'],
    ['node', 'forget', 'x'],
    ['watch', 'jobs', '--once'],
)


def run(address, *args):
    text = 'x running\n' if '--stdin' in args else rank_table({'n': [0]})
    done = subprocess.run(
        [BINARY, *args, '--coordinator=' + address],
        input=text.encode(),
        capture_output=True,
        timeout=60,
    )
    return done.returncode, done.stdout.decode(), done.stderr.decode()


class Hostile(unittest.TestCase):
    def coordinator(self, refuses):
        coordinator = HostileCoordinator(refuses)
        self.addCleanup(coordinator.stop)
        return coordinator.address

    def assert_harmless(self, text, args):
        # Cc: control characters. Cf: those that change the writing direction.
        raw = {c for c in text if unicodedata.category(c) in ('Cc', 'Cf')} - {'\n'}
        self.assertEqual(raw, set(), (args, text))
        self.assertNotIn('\nassay: all is well', text, args)

    def test_answers(self):
        address = self.coordinator(refuses=False)
        seen = ''
        for args in COMMANDS:
            _, output, errors = run(address, *args)
            self.assert_harmless(output, args)
            self.assert_harmless(errors, args)
            seen += output + errors
            _, output, errors = run(address, *args, '--json')
            self.assert_harmless(output, args)
            self.assert_harmless(errors, args)
            if '\\u009b' in output:
                self.assertIn(HOSTILE, str_of_all(json.loads(output)), args)
        self.assertIn('\\u001b[2J\\u009b2K\\u202eb\\u007f', seen)

    def test_notes_are_shown_with_escapes(self):
        address = self.coordinator(refuses=False)
        shown = HOSTILE.encode('unicode_escape').decode()
        shown = shown.replace('\\x', '\\u00').replace('\\r', '\\u000d')
        for args in (['job', 'delete', 'x'], ['job', 'apply', 'x', '--rank-table=-'],
                     ['job', 'status', '--stdin'], ['run', 'cancel', '1']):
            _, output, errors = run(address, *args)
            self.assertIn(shown, output + errors, args)

    def test_refusals(self):
        address = self.coordinator(refuses=True)
        for args in COMMANDS:
            for flags in ([], ['--json']):
                status, output, errors = run(address, *args, *flags)
                self.assertEqual(status, 1, args)
                self.assert_harmless(output, args)
                self.assert_harmless(errors, args)

    def test_a_terminal(self):
        address = self.coordinator(refuses=False)
        watch = Terminal(self, '--once', '--coordinator=' + address)
        watch.ended(0)
        self.assert_harmless(watch.read().decode().replace('\r\n', '\n'), 'watch')


def str_of_all(value):
    """All strings in a JSON value, one after the other."""
    if isinstance(value, dict):
        return ''.join(str_of_all(one) for one in value.values())
    if isinstance(value, list):
        return ''.join(str_of_all(one) for one in value)
    return value if isinstance(value, str) else ''


class Signals(unittest.TestCase):
    def setUp(self):
        self.bench = Bench()
        self.addCleanup(self.bench.stop)
        self.children = []
        self.addCleanup(self.stop)

    def stop(self):
        for child in self.children:
            if child.poll() is None:
                child.kill()
            child.communicate()

    def open(self, *args, text=None):
        child = subprocess.Popen(
            [BINARY, *args],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.children.append(child)
        if text is not None:
            child.stdin.write(text.encode())
            child.stdin.close()
            child.stdin = None
        return child

    def ends(self, child, how, status):
        begin = time.monotonic()
        child.send_signal(how)
        self.assertEqual(child.wait(20), status, (child.args, how))
        self.assertLess(time.monotonic() - begin, SOON, (child.args, how))
        return child.stderr.read().decode()

    def silent(self):
        """A coordinator that accepts connections and never answers."""
        listener = socket.create_server(('127.0.0.1', 0))
        self.addCleanup(listener.close)
        return listener, '127.0.0.1:%d' % listener.getsockname()[1]

    def test_every_signal_ends_a_call_that_is_not_answered(self):
        listener, address = self.silent()
        signals = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT]
        for i, args in enumerate(COMMANDS):
            if '--stdin' in args:
                continue
            how = signals[i % len(signals)]
            child = self.open(*args, '--coordinator=' + address, text=rank_table({'n': [0]}))
            connection, _ = listener.accept()
            time.sleep(0.2)  # from the connection to the call's wait
            said = self.ends(child, how, 128 + how)
            self.assertTrue(said.startswith('assay ' + args[0]), said)
            self.assertIn('interrupted' if how == signal.SIGINT else how.name, said)
            if 'stress' in args and '--check' not in args:
                self.assertIn('`assay run list --job=x` shows it', said)
            elif 'watch' not in args:
                self.assertIn(f'coordinator {address} has not answered', said)
            connection.close()

    def test_a_signal_ends_a_wait_for_input_and_for_output(self):
        child = self.open('job', 'apply', 'x', '--rank-table=-')
        time.sleep(1)
        self.assertIn('interrupted', self.ends(child, signal.SIGINT, 130))
        large = rank_table({f'node-{i}': range(8) for i in range(1000)})
        child = self.open('job', 'check', '-', '--json', text=large)
        child.stdout.read(1)  # the pipe is full soon after
        time.sleep(1)
        self.assertIn('SIGTERM', self.ends(child, signal.SIGTERM, 143))

    def tested_job(self):
        coordinator = self.bench.start_coordinator('--kill-grace=300ms')
        self.bench.start_agent('a', '--sim-op-ms=60000')
        self.bench.apply('job', {'a': [0, 1]})
        return coordinator

    def test_a_stress_test_is_left_running(self):
        coordinator = self.tested_job()
        at = '--coordinator=' + self.bench.address
        for how, status in ((signal.SIGINT, 1), (signal.SIGTERM, 143), (signal.SIGHUP, 129)):
            run_number = len(json.loads(self.bench.run('run', 'list', '--json').stdout)) + 1
            wait = self.bench.start('wait', 'stress', 'job', at)
            until('the wait', lambda: f'run {run_number} testing' in self.bench.log('wait'))
            coordinator.send_signal(signal.SIGSTOP)
            time.sleep(0.5)
            begin = time.monotonic()
            wait.send_signal(how)
            self.assertEqual(wait.wait(50), status)
            self.assertLess(time.monotonic() - begin, SOON)
            self.assertIn(f'`assay run cancel {run_number}` cancels it', self.bench.log('wait'))
            coordinator.send_signal(signal.SIGCONT)
            self.assertEqual(self.bench.run('run', 'cancel', str(run_number)).returncode, 0)
            until('the end', lambda: self.ended(run_number))

    def test_the_question_is_asked_although_nobody_answers(self):
        coordinator = self.tested_job()
        terminal, slave = pty.openpty()
        self.addCleanup(lambda: (os.close(terminal), os.close(slave)))
        wait = subprocess.Popen(
            [BINARY, 'stress', 'job', '--coordinator=' + self.bench.address],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
        )
        self.bench.children.append(wait)
        seen = [b'']

        def shows(text):
            while select.select([terminal], [], [], 0.02)[0]:
                seen[0] += os.read(terminal, 65536)
            return text in seen[0]

        until('the wait', lambda: shows(b'run 1 testing'))
        coordinator.send_signal(signal.SIGSTOP)
        time.sleep(0.5)
        wait.send_signal(signal.SIGINT)
        until('the question', lambda: shows(b'[c]ancel run 1'), SOON)
        os.write(terminal, b'w\n')
        for answer in (b'c\n', b'l\n'):
            time.sleep(0.5)  # until the answer is read: Ctrl-C during the question means leave
            seen[0] = b''
            wait.send_signal(signal.SIGINT)
            until('the question', lambda: shows(b'[c]ancel run 1'), SOON)
            os.write(terminal, answer)
        # The answer c is a call that is not answered either, until Ctrl-C.
        self.assertEqual(wait.wait(20), 1)
        shows(b'')
        self.assertIn(b'`assay run cancel 1` cancels it', seen[0])
        self.assertNotIn(b'the coordinator is back', seen[0])

    def ended(self, number):
        done = self.bench.run('run', 'show', str(number), '--json')
        return json.loads(done.stdout)['ended_ms'] != 0

    def test_lines_that_are_not_answered(self):
        coordinator = self.tested_job()
        for how in (signal.SIGINT, signal.SIGTERM):
            child = self.open('job', 'status', '--stdin', '--coordinator=' + self.bench.address)
            coordinator.send_signal(signal.SIGSTOP)
            child.stdin.write(b'job failed\n')
            child.stdin.flush()
            time.sleep(1)
            said = self.ends(child, how, 1)
            self.assertIn('the result is unknown from line 1 on', said)
            coordinator.send_signal(signal.SIGCONT)

    def test_watch_before_it_is_connected(self):
        listener, address = self.silent()
        for how in (signal.SIGINT, signal.SIGTERM):
            child = self.open('watch', 'jobs', '--coordinator=' + address)
            connection, _ = listener.accept()
            self.ends(child, how, 0)
            connection.close()


class Return(unittest.TestCase):
    """A coordinator that was away so long that gRPC's own back-off has grown."""

    AWAY_SECONDS = 8

    def setUp(self):
        self.bench = Bench()
        self.addCleanup(self.bench.stop)
        self.coordinator = self.bench.start_coordinator()
        self.bench.start_agent('a', '--sim-op-ms=60000')
        self.bench.apply('job', {'a': [0, 1]})

    def assert_noticed(self, log, returns):
        at = self.bench.address
        self.coordinator.kill()
        self.coordinator.wait()
        until('the message', lambda: 'waiting for it' in self.bench.log(log))
        time.sleep(self.AWAY_SECONDS)
        returns(at)
        begin = time.monotonic()
        until('the return', lambda: 'the coordinator is back' in self.bench.log(log))
        self.assertLess(time.monotonic() - begin, SOON)

    def restart(self, address):
        self.coordinator = self.bench.start_coordinator(listen=address)

    def test_stress(self):
        self.bench.start('wait', 'stress', 'job', '--coordinator=' + self.bench.address)
        until('the wait', lambda: 'run 1 testing' in self.bench.log('wait'))
        self.assert_noticed('wait', self.restart)

    def test_watch(self):
        self.bench.start('watch', 'watch', 'jobs', '--coordinator=' + self.bench.address)
        until('the snapshot', lambda: '"jobId":"job"' in self.bench.log('watch'))
        self.assert_noticed('watch', self.restart)


if __name__ == '__main__':
    unittest.main()
