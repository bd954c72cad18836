"""Starts the real program for a suite and speaks the published interface.

With grpcio, which knows nothing of Assay.
"""
import json
import os
import queue
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import closing

import grpc

HERE = os.path.dirname(os.path.abspath(__file__))
BINARY = os.environ.get('ASSAY_BINARY') or sys.exit('ASSAY_BINARY names the program to test')


def _messages():
    """The messages of our .proto files, made by protoc for this run alone."""
    folder = tempfile.mkdtemp(prefix='assay-proto-')
    try:
        proto = os.path.join(HERE, '../../proto')
        subprocess.run(
            ['protoc', '--proto_path=' + proto, '--python_out=' + folder]
            + ['recover.proto', 'job.proto'],
            check=True,
        )
        sys.path.insert(0, folder)
        import job_pb2
        import recover_pb2

        return recover_pb2, job_pb2
    finally:
        shutil.rmtree(folder)


pb, job_pb = _messages()

# What answers: a method of Recover, or service/method.
ANSWERS = {
    'StressTest': pb.Status,
    'ReplyStressTestResult': pb.Status,
    'Init': pb.Status,
    'Register': pb.Status,
    'HealthCheck': pb.Status,
    'ReportStopComplete': pb.Status,
    'SubscribeNotifyExecStressTest': pb.StressTestRankParams,
    'SubscribeStressTestResponse': pb.StressTestResponse,
    'job.Job/Register': job_pb.Status,
    'job.Job/SubscribeJobSummarySignal': job_pb.JobSummarySignal,
    'job.Job/SubscribeJobSummarySignalList': job_pb.JobSummarySignalList,
}


def _path(method):
    return '/' + method if '/' in method else '/Recover/' + method


def _serialize(request):
    """Bytes go as they are."""
    return request if isinstance(request, bytes) else request.SerializeToString()


def until(what, condition, seconds=20):
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f'waited {seconds} s in vain: {what}')
        time.sleep(0.02)


def rank_table(nodes):
    """As ClusterD writes it; nodes: {name: [devices]}."""
    rank, servers = 0, []
    for i, (name, devices) in enumerate(nodes.items()):
        entries = []
        for device in devices:
            entries.append({'device_id': str(device), 'rank_id': str(rank), 'device_ip': ''})
            rank += 1
        servers.append(
            {
                'server_id': f'192.0.2.{i + 1}',
                'server_name': name,
                'host_ip': f'192.0.2.{i + 1}',
                'device': entries,
            }
        )
    return json.dumps(
        {
            'status': 'complete',
            'server_count': str(len(servers)),
            'total': 1,
            'server_list': servers,
        }
    )


class Heard:
    """A server stream that remembers what came, and its bytes. end() waits for its status.

    accepted() waits until the server has sent its metadata: a notify stream hears of every test
    from then on, a subscriber of every signal. pause() reads one message more, then none until
    resume().
    """

    def __init__(self, channel, call, received):
        self.messages, self.bytes, self.call = [], received, call
        self._channel, self._ended = channel, queue.Queue()
        self._accepted, self._reads = threading.Event(), threading.Event()
        self._reads.set()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        try:
            self.call.initial_metadata()
            self._accepted.set()
            for message in self.call:
                self.messages.append(message)
                self._reads.wait()
            self._ended.put((grpc.StatusCode.OK, ''))
        except grpc.RpcError as error:
            self._ended.put((error.code(), error.details()))

    def accepted(self, seconds=20):
        if not self._accepted.wait(seconds):
            raise AssertionError(f'waited {seconds} s in vain: the metadata of a stream')

    def end(self, seconds=20):
        return self._ended.get(timeout=seconds)

    def over(self):
        return not self._ended.empty()

    def pause(self):
        self._reads.clear()

    def resume(self):
        self._reads.set()

    def close(self):
        self.resume()
        self.call.cancel()
        self._channel.close()


class Bench:
    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix='assay-interop-')
        self.children, self.address = [], None

    def start(self, name, *args):
        log = open(os.path.join(self.folder, name + '.log'), 'ab')
        child = subprocess.Popen([BINARY, *args], stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        log.close()
        self.children.append(child)
        return child

    def log(self, name):
        with open(
            os.path.join(self.folder, name + '.log'), encoding='utf-8', errors='replace'
        ) as file:
            return file.read()

    def start_coordinator(self, *flags, listen='127.0.0.1:0'):
        port = os.path.join(self.folder, 'port')
        if os.path.exists(port):
            os.unlink(port)
        child = self.start(
            'coordinator',
            '--role=coordinator',
            '--listen=' + listen,
            '--port-file=' + port,
            '--db=' + os.path.join(self.folder, 'assay.db'),
            *flags,
        )

        def ready():
            assert child.poll() is None, self.log('coordinator')
            return os.path.exists(port)

        until('the port file', ready)
        with open(port, encoding='utf-8') as file:
            self.address = file.read().strip()
        return child

    def start_agent(self, node, *flags):
        child = self.start(
            'agent-' + node,
            '--role=agent',
            '--coordinator=' + self.address,
            '--node=' + node,
            '--state-dir=' + os.path.join(self.folder, 'agent-' + node),
            '--driver=sim',
            *flags,
        )

        def attached():
            assert child.poll() is None, self.log('agent-' + node)
            nodes = self.run('node', 'list', '--json')
            return nodes.returncode == 0 and any(
                one['name'] == node and one['state'] == 'attached'
                for one in json.loads(nodes.stdout)
            )

        until('node ' + node, attached)
        return child

    def run(self, *args, text=''):
        """text: what standard input is."""
        return subprocess.run(
            [BINARY, *args, '--coordinator=' + self.address],
            input=text,
            capture_output=True,
            text=True,
            timeout=120,
        )

    def apply(self, job, nodes, *flags):
        """nodes: {name: [devices]}, or a table's text."""
        table = nodes if isinstance(nodes, str) else rank_table(nodes)
        done = self.run('job', 'apply', job, '--rank-table=-', *flags, text=table)
        assert done.returncode == 0, done.stderr

    def events(self, kind, job):
        """The texts of a job's events, oldest first."""
        with closing(sqlite3.connect(f'file:{self.folder}/assay.db?mode=ro', uri=True)) as database:
            return [
                text
                for text, in database.execute(
                    'select text from events where kind = ? and job = ? order by rowid', (kind, job)
                )
            ]

    def channel(self):
        # A connection of its own for each, as TaskD makes them.
        return grpc.insecure_channel(
            self.address,
            options=[
                ('grpc.use_local_subchannel_pool', 1),
                ('grpc.max_send_message_length', 64 << 20),
            ],
        )

    def call(self, method, request):
        with self.channel() as channel:
            return channel.unary_unary(_path(method), _serialize, ANSWERS[method].FromString)(
                request, timeout=60
            )

    def refused(self, method, request):
        """The status of a call that has to fail."""
        try:
            answer = self.call(method, request)
        except grpc.RpcError as error:
            return error.code(), error.details()
        raise AssertionError(f'{method} answered {answer}')

    def listen(self, method, request):
        channel, received = self.channel(), []

        def read(raw):
            received.append(raw)
            return ANSWERS[method].FromString(raw)

        call = channel.unary_stream(_path(method), _serialize, read)(request)
        return Heard(channel, call, received)

    def executor(self, job):
        """A training agent's subscription."""
        heard = self.listen('SubscribeNotifyExecStressTest', pb.ClientInfo(jobId=job, role='taskd'))
        heard.accepted()
        return heard

    def begun(self, node, run):
        """How many ops of the run the node's agent has begun, by its own books."""
        file = os.path.join(self.folder, 'agent-' + node, 'agent.db')
        connection = sqlite3.connect(f'file:{file}?mode=ro', uri=True, timeout=20)
        try:
            return connection.execute(
                'select count(*) from ops where run = ? and begun is not null', (run,)
            ).fetchone()[0]
        finally:
            connection.close()

    def stop(self):
        for child in self.children:
            if child.poll() is None:
                child.kill()
        for child in self.children:
            child.wait()
        shutil.rmtree(self.folder, ignore_errors=True)
