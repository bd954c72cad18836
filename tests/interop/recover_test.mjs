// The stress test interface as platforms and training agents (TaskD) use it.
import assert from 'node:assert/strict';
import {after, before, test} from 'node:test';

import {Bench, grpc, until} from './harness.mjs';

const bench = new Bench();
before(() => bench.startCoordinator('--reply-quiet=0s'));
after(() => bench.stop());

const ok = (ops) => Object.fromEntries(ops.map((op) => [op, {code: '0', result: 'OK'}]));
const resultOf = (msg) => JSON.parse(msg.slice(msg.indexOf('result:') + 'result:'.length));
const mapValues = (map, f) => Object.fromEntries(
    Object.entries(map).map(([key, value]) => [key, f(value)]));
const platform = {
  stress: (job, nodes) => bench.call('StressTest', {
    jobID: job,
    stressParam: mapValues(nodes, (ops) => ({ops})),
  }),
  result: (job) => bench.listen('SubscribeStressTestResponse', {jobID: job}),
};
const reply = (job, ranks) => bench.call('ReplyStressTestResult', {
  jobId: job,
  stressResult: mapValues(ranks, (rankResult) => ({rankResult})),
});
const executor = async (job) => {
  const heard = bench.listen('SubscribeNotifyExecStressTest', {jobId: job, role: 'taskd'});
  // The server sends the metadata once the stream is subscribed to every later test.
  await until('a notify stream', () => heard.metadata);
  return heard;
};

test('unknown jobs are refused with the texts of the interface', async () => {
  assert.deepEqual(await platform.stress('nobody', {a: [0]}),
                   {code: 413, info: 'job:nobody not exist'});
  assert.deepEqual(await reply('nobody', {}), {code: 400, info: 'jobId=nobody not registed'});
  const notify = await bench.listen('SubscribeNotifyExecStressTest', {jobId: 'nobody'}).end;
  assert.equal(notify.code, grpc.status.NOT_FOUND);
  assert.equal(notify.details, 'jobId=nobody not registed, please wait agent register');
  const result = await platform.result('nobody').end;
  assert.equal(result.code, grpc.status.NOT_FOUND);
  assert.equal(result.details, 'jobId=nobody not registed');
});

test('invalid parameters are refused with code 413', async () => {
  bench.apply('params', {'p-a': [0, 1]});
  const info = async (nodes) => (await platform.stress('params', nodes)).info;
  assert.equal(await info({}), 'stress test node is nil');
  assert.equal(await info({'p-a': []}), 'node:p-a stress test ops is 0');
  assert.equal(await info({elsewhere: [0]}), 'node:elsewhere not exist in job:params');
  assert.equal(await info({'p-a': [7]}), 'op:7 not exist in support operation:[0 1]');
  assert.equal(await info({'p-a': [0, 0]}), 'node:p-a stress test ops should not repeat');
  assert.equal((await platform.stress('params', {'p-a': [0]})).code, 404);  // no executor
});

test('a complete stress test with a training agent as executor', async () => {
  bench.apply('whole', {'w-a': [0, 1], 'w-b': [0, 1]});
  const early = await platform.result('whole').end;
  assert.equal(early.code, grpc.status.NOT_FOUND);
  assert.equal(early.details, 'jobId=whole is not stress test');

  const taskd = await executor('whole');
  assert.deepEqual(await platform.stress('whole', {'w-a': [1, 0], 'w-b': [0]}),
                   {code: 0, info: 'stress test operation was successfully distributed'});
  const waiting = [platform.result('whole'), platform.result('whole')];
  await until('the notification', () => taskd.messages.length === 1);
  assert.deepEqual(taskd.messages[0], {
    jobId: 'whole',
    stressParam: {0: {ops: [0, 1]}, 1: {ops: [0, 1]}, 2: {ops: [0]}, 3: {ops: [0]}},
  });
  assert.equal((await platform.stress('whole', {'w-a': [0]})).code, 411);

  // Replies arrive on separate connections, in parts, repeated, with - and , in their texts.
  assert.equal((await reply('whole', {0: ok([0, 1]), 1: ok([0, 1])})).code, 0);
  assert.equal((await reply('whole', {0: ok([0, 1]), 1: ok([0, 1])})).code, 0);
  const wrong = await reply('whole', {2: {0: {code: '2', result: 'find fault-rank, bit 7'}},
                                      9: {0: {code: '0', result: 'OK'}}});
  assert.equal(wrong.code, 413);
  assert.match(wrong.info, /rank:9 is not part of run/);
  assert.equal((await reply('whole', {3: {0: {code: '1', result: 'can not exec'}}})).code, 0);

  const expected = {
    'w-a': {0: {rankResult: ok([0, 1])}, 1: {rankResult: ok([0, 1])}},
    'w-b': {0: {rankResult: {0: {code: '2', result: 'find fault-rank, bit 7'}}},
            1: {rankResult: {0: {code: '1', result: 'can not exec'}}}},
  };
  for (const heard of [...waiting, platform.result('whole')]) {
    const status = await heard.end;
    assert.equal(status.code, grpc.status.OK);
    assert.equal(heard.messages.length, 1);
    assert.equal(heard.messages[0].jobID, 'whole');
    assert.match(heard.messages[0].msg,
                 /^stress test find fault, isolate node:map\[w-b:\{\}\],result:\{/);
    assert.deepEqual(resultOf(heard.messages[0].msg), expected);
    assert.match(heard.metadata.get('assay-run')[0], /^[0-9]+$/);
  }
  // A reply after the end changes nothing.
  const late = await reply('whole', {0: {0: {code: '2', result: 'late'}}});
  assert.equal(late.code, 0);
  assert.match(late.info, /no outcome was changed/);
  // The notify stream stays open across runs.
  assert.equal((await platform.stress('whole', {'w-b': [0]})).code, 0);
  await until('the second notification', () => taskd.messages.length === 2);
  taskd.stream.cancel();
});

test('allNodesOps runs on every node and overrides the map', async () => {
  bench.apply('all', {'n-a': [0], 'n-b': [0]});
  const taskd = await executor('all');
  const request = {jobID: 'all', allNodesOps: [0], stressParam: {nowhere: {ops: [9]}}};
  assert.equal((await bench.call('StressTest', request)).code, 0);
  await until('the notification', () => taskd.messages.length === 1);
  assert.deepEqual(taskd.messages[0].stressParam, {0: {ops: [0]}, 1: {ops: [0]}});
  const twice = await bench.call('StressTest', {jobID: 'all', allNodesOps: [1, 1]});
  assert.match(twice.info, /AllNodes/);
  taskd.stream.cancel();
});

test('one of several simultaneous calls starts a run', async () => {
  bench.apply('twice', {'t-a': [0]});
  const taskd = await executor('twice');
  const codes = (await Promise.all([1, 2, 3, 4].map(() => platform.stress('twice', {'t-a': [0]}))))
                    .map((answer) => answer.code).sort();
  assert.deepEqual(codes, [0, 411, 411, 411]);
  await until('the notification', () => taskd.messages.length === 1);
  taskd.stream.cancel();
});

test('every notify stream gets the test, the first outcome of a rank wins', async () => {
  bench.apply('two', {'d-a': [0]});
  const streams = [await executor('two'), await executor('two')];
  assert.equal((await platform.stress('two', {'d-a': [0]})).code, 0);
  await until('both', () => streams.every((heard) => heard.messages.length === 1));
  const waiting = platform.result('two');
  assert.equal((await reply('two', {0: ok([0])})).code, 0);
  assert.equal((await reply('two', {0: {0: {code: '2', result: 'other'}}})).code, 0);
  await waiting.end;
  assert.ok(waiting.messages[0].msg.startsWith('stress test finish, result:'));
  for (const heard of streams) heard.stream.cancel();
});

test('an executor that loses its connection can reply on another', async () => {
  bench.apply('lost', {'l-a': [0]});
  const taskd = await executor('lost');
  assert.equal((await platform.stress('lost', {'l-a': [0]})).code, 0);
  await until('the notification', () => taskd.messages.length === 1);
  const waiting = platform.result('lost');
  taskd.client.close();
  taskd.stream.cancel();
  assert.equal((await reply('lost', {0: ok([0])})).code, 0);
  assert.equal((await waiting.end).code, grpc.status.OK);
  assert.deepEqual(resultOf(waiting.messages[0].msg), {'l-a': {0: {rankResult: ok([0])}}});
});

test('a training agent may subscribe before Init succeeds', async () => {
  const info = {jobId: 'order', role: 'taskd'};
  const tooEarly = await bench.listen('SubscribeNotifyExecStressTest', info).end;
  assert.equal(tooEarly.code, grpc.status.NOT_FOUND);
  for (const method of ['Init', 'Register', 'HealthCheck']) {
    const answer = await bench.call(method, info);
    assert.equal(answer.error.code, grpc.status.UNIMPLEMENTED);
  }
  bench.apply('order', {'o-a': [0]});
  const taskd = await executor('order');
  assert.equal((await platform.stress('order', {'o-a': [0]})).code, 0);
  await until('the notification', () => taskd.messages.length === 1);
  taskd.stream.cancel();
});

test('agents execute without a training agent and report the planned outcomes', async () => {
  await bench.startAgent('s-a', '--sim-op-ms=10', '--sim=3:aic=faulty,2:p2p=not_run,7:aic=voltage');
  await bench.startAgent('s-b', '--sim-op-ms=10', '--sim=1:aic=crash');
  bench.apply('sim', {'s-a': [0, 1, 2, 3, 4, 5, 6, 7], 's-b': [0, 1, 2, 3, 4, 5, 6, 7]});
  assert.equal((await platform.stress('sim', {'s-a': [0, 1], 's-b': [0, 1]})).code, 0);
  const heard = platform.result('sim');
  assert.equal((await heard.end).code, grpc.status.OK);
  const {msg} = heard.messages[0];
  assert.match(msg, /^stress test find fault, isolate node:map\[s-a:\{\}\],result:\{/);
  const codes = {};
  for (const [node, devices] of Object.entries(resultOf(msg))) {
    for (const [device, {rankResult}] of Object.entries(devices)) {
      codes[`${node}/${device}`] = `${rankResult[0].code}${rankResult[1].code}`;
      if (rankResult[0].code === '0') assert.equal(rankResult[0].result, 'OK');
    }
  }
  const expected = {};
  for (const node of ['s-a', 's-b']) {
    for (let device = 0; device < 8; ++device) expected[`${node}/${device}`] = '00';
  }
  Object.assign(expected, {'s-a/3': '21', 's-a/2': '01', 's-a/7': '41', 's-b/1': '11'});
  assert.deepEqual(codes, expected);
});
