// Starts the real program for a suite and provides plain clients of the published interface.
import {spawn, spawnSync} from 'node:child_process';
import {existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {dirname, join} from 'node:path';
import {fileURLToPath} from 'node:url';

import grpc from '@grpc/grpc-js';
import protoLoader from '@grpc/proto-loader';

const here = dirname(fileURLToPath(import.meta.url));
export const binary = process.env.ASSAY_BINARY;
if (!binary) throw new Error('set ASSAY_BINARY to the program to test');

// Each file is loaded separately: in one root the loader confuses messages with the same name.
const load = (name) => protoLoader.loadSync(join(here, '../../proto', name),
                                            {keepCase: true, longs: Number, defaults: true});
const definition = {...load('recover.proto'), ...load('job.proto')};

// name: 'Method' of Recover, or 'Service/Method'.
function methodOf(name) {
  const [service, method] = name.includes('/') ? name.split('/') : ['Recover', name];
  return definition[service][method];
}
// A request that is already bytes is sent unchanged.
const serializerOf = (method) => (request) =>
    Buffer.isBuffer(request) ? request : method.requestSerialize(request);

export const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

export async function until(what, condition, ms = 20000) {
  const end = Date.now() + ms;
  for (;;) {
    const value = await condition();
    if (value) return value;
    if (Date.now() > end) throw new Error(`timed out after ${ms} ms waiting for: ${what}`);
    await sleep(20);
  }
}

// A rank table in ClusterD's format; nodes: {node: [devices]}.
export function rankTable(nodes, more = {}) {
  let rank = 0;
  const servers = Object.entries(nodes).map(([name, devices], i) => ({
    server_id: `192.0.2.${i + 1}`, server_name: name, host_ip: `192.0.2.${i + 1}`,
    device: devices.map((device) => ({device_id: String(device), rank_id: String(rank++),
                                      device_ip: `198.51.100.${rank}`})),
  }));
  return JSON.stringify({status: 'complete', server_count: String(servers.length), total: 1,
                         server_list: servers, ...more});
}

export class Bench {
  constructor() {
    this.folder = mkdtempSync(join(tmpdir(), 'assay-interop-'));
    this.children = [];
    this.clients = [];
  }

  start(args) {
    const child = spawn(binary, args, {stdio: ['ignore', 'ignore', 'pipe']});
    child.log = '';
    child.stderr.on('data', (text) => { child.log += text; });
    child.ended = new Promise((done) => child.on('exit', (code, signal) => done({code, signal})));
    this.children.push(child);
    return child;
  }

  // A restart uses the same database and port.
  async startCoordinator(...flags) {
    const portFile = join(this.folder, 'port');
    rmSync(portFile, {force: true});
    const child = this.start([
      '--role=coordinator', `--listen=${this.address ?? '127.0.0.1:0'}`, `--port-file=${portFile}`,
      `--db=${join(this.folder, 'assay.db')}`, ...flags,
    ]);
    await until('the port file', () => {
      if (child.exitCode !== null) throw new Error(`the coordinator exited: ${child.log}`);
      return existsSync(portFile);
    });
    this.address = readFileSync(portFile, 'utf8').trim();
    return child;
  }

  async startAgent(node, ...flags) {
    const child = this.start([
      '--role=agent', `--coordinator=${this.address}`, `--node=${node}`, '--driver=sim',
      `--state-dir=${join(this.folder, `agent-${node}`)}`, ...flags,
    ]);
    await until(`node ${node}`, () => {
      if (child.exitCode !== null) throw new Error(`agent ${node} exited: ${child.log}`);
      return this.run('node', 'list', '--json').json.some(
          (one) => one.name === node && one.state === 'attached');
    });
    return child;
  }

  // Kills the process and waits until it has exited.
  async kill(child) {
    child.kill('SIGKILL');
    await child.ended;
  }

  run(...args) {
    const done = spawnSync(binary, [...args, `--coordinator=${this.address}`], {encoding: 'utf8'});
    const result = {status: done.status, out: done.stdout, err: done.stderr};
    if (args.includes('--json') && done.stdout) result.json = JSON.parse(done.stdout);
    return result;
  }

  // Runs a client command asynchronously, so that several can run at once.
  async runAside(args, input = '') {
    const child = spawn(binary, [...args, `--coordinator=${this.address}`]);
    const result = {out: '', err: ''};
    child.stdout.on('data', (text) => { result.out += text; });
    child.stderr.on('data', (text) => { result.err += text; });
    child.stdin.end(input);
    result.status = await new Promise((done) => child.on('close', done));
    return result;
  }

  apply(job, nodes, ...flags) {
    const file = join(this.folder, `${job}.json`);
    writeFileSync(file, typeof nodes === 'string' ? nodes : rankTable(nodes));
    const done = this.run('job', 'apply', job, '--rank-table', file, ...flags);
    if (done.status !== 0) throw new Error(done.err);
  }

  // Each client has its own connection, as TaskD opens one for every report.
  client() {
    const client = new grpc.Client(this.address, grpc.credentials.createInsecure(),
                                   {'grpc.use_local_subchannel_pool': 1});
    this.clients.push(client);
    return client;
  }

  call(name, request) {
    const client = this.client();
    const method = methodOf(name);
    return new Promise((done) => {
      client.makeUnaryRequest(method.path, serializerOf(method), method.responseDeserialize,
                              request, {deadline: Date.now() + 20000}, (error, response) => {
        client.close();
        done(error ? {error} : response);
      });
    });
  }

  // A stream that records the received messages and their bytes; `.end` resolves with its status.
  listen(name, request) {
    const client = this.client();
    const method = methodOf(name);
    const heard = {messages: [], bytes: [], client};
    const read = (bytes) => {
      heard.bytes.push(bytes);
      return method.responseDeserialize(bytes);
    };
    const stream = client.makeServerStreamRequest(method.path, serializerOf(method), read, request);
    heard.stream = stream;
    heard.end = new Promise((done) => {
      stream.on('data', (message) => heard.messages.push(message));
      stream.on('metadata', (metadata) => { heard.metadata = metadata; });
      stream.on('error', () => {});
      stream.on('status', (status) => done(status));
    });
    return heard;
  }

  async stop() {
    for (const client of this.clients) client.close();
    for (const child of this.children) {
      if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
    }
    await Promise.all(this.children.map((child) => child.ended));
    rmSync(this.folder, {recursive: true, force: true});
  }
}

export {grpc};
