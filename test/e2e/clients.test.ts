import { execFile, spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { closeSync, existsSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { buffer, text } from 'node:stream/consumers';
import { Attach, Exec, KubeConfig, PortForward, type V1Status } from '@kubernetes/client-node';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { kubectls, Lines, noKubectl, type KubectlProgram } from './kubectl.ts';
import { shellPod } from './manifests.ts';
import { condition, freePort, makeDir, Podtender, processesOf } from './podtender.ts';

const python = new URL('../../.cache/python', import.meta.url).pathname;
const noPython = existsSync(join(python, 'kubernetes'))
  ? undefined
  : "Python's kubernetes is not there: run .ci/install-real-parts";
if (noPython !== undefined) process.stderr.write(`skipped: ${noPython}\n`);

/** Sends `bytes` and its end, and reads until the other side ends. */
async function echoed(socket: Socket, bytes: Buffer): Promise<Buffer> {
  socket.end(bytes);
  return buffer(socket);
}

/** One agent with its embedded API server, and clients of every make before it. */
describe.skipIf(noKubectl !== undefined)('clients of other makes', { timeout: 60_000 }, () => {
  const mark = `clients-${process.pid}`;
  const dir = makeDir();
  let agent: Podtender;
  let port = 0;

  beforeAll(async () => {
    agent = await Podtender.up({ dataDir: `${dir.path}/data` });
    port = await freePort();
    const echo = `require("net").createServer({allowHalfOpen:true},s=>s.pipe(s)).listen(${port},"127.0.0.1")`;
    const reader = 'while read line; do echo "got $line"; done; sleep 600';
    const pods = [
      shellPod('server', mark, `echo one; echo two >&2; echo three; exec ${process.execPath} -e '${echo}'`),
      shellPod('ended', mark, 'echo first; sleep 0.2; echo last', { restartPolicy: 'Never' }),
      shellPod('reader', mark, reader, {
        containers: [
          {
            name: 'main',
            image: 'busybox',
            stdin: true,
            command: ['sh', '-c', reader],
            env: [{ name: 'E2E', value: mark }],
          },
        ],
      }),
    ];
    await agent.ok(['apply', '-f', '-'], pods.join('---\n'));
    const seen = agent.watchPods();
    for (const name of ['server', 'reader'])
      await seen.until(name, (pod) => condition(pod, 'Ready') === 'True');
    await seen.until('ended', (pod) => pod.status?.phase === 'Succeeded');
    await accepts(port);
  }, 60_000);

  afterAll(async () => {
    await agent.end();
    for (const pid of processesOf(mark).keys()) process.kill(pid, 'SIGKILL');
    dir.remove();
  }, 60_000);

  describe.each(kubectls)('$label', (program: KubectlProgram) => {
    const logs = async (...args: string[]): Promise<string> => agent.ok(['logs', ...args], '', program);
    const sorted = (lines: string): string => lines.trimEnd().split('\n').sort().join(' ');

    test('logs in all options', async () => {
      expect(sorted(await logs('server'))).toBe('one three two');
      expect(sorted(await logs('server', '-c', 'main', '--since=1h'))).toBe('one three two');
      expect(await logs('ended', '--tail=1')).toBe('last\n');
      expect(await logs('ended', '--limit-bytes=3')).toBe('fir');
      expect(await logs('ended', '-f')).toBe('first\nlast\n');
      expect(await logs('ended', '--timestamps')).toMatch(/^\d{4}-\d\d-\d\dT\S+ first\n\S+ last\n$/);
      const [at = ''] = (await logs('ended', '--timestamps', '--tail=1')).split(' ');
      expect(await logs('ended', `--since-time=${new Date(Date.parse(at) + 1000).toISOString()}`)).toBe('');
      expect(sorted(await logs('server', '--all-containers', '--prefix'))).toContain('[pod/server/main] one');
      const previous = await agent.kubectl(['logs', 'server', '--previous'], '', program);
      expect([previous.code, previous.stderr]).toEqual([
        1,
        expect.stringContaining('previous terminated container "main" in pod "server" not found'),
      ]);
    });

    test('exit codes, and output apart from errors', async () => {
      for (const code of [0, 3, 137]) {
        const line = `echo out; echo err >&2; exit ${code}`;
        const done = await agent.kubectl(['exec', 'server', '--', 'sh', '-c', line], '', program);
        expect([done.code, done.stdout]).toEqual([code, 'out\n']);
        expect(done.stderr).toMatch(/^err\n/);
      }
    });

    test('a command of 120 KB, all of it in the address', async () => {
      const args = ['exec', 'server', '--', 'sh', '-c', 'printf %s "$1" | wc -c', 'sh', 'x'.repeat(120_000)];
      const done = await agent.kubectl(args, '', program);
      expect([done.code, done.stdout.trim(), done.stderr]).toEqual([0, '120000', '']);
    });

    test('100 MB of stdin arrive whole', async () => {
      const [file, bytes] = [join(dir.path, `big-${program.label}`), randomBytes(100 * 1024 * 1024)];
      writeFileSync(file, bytes);
      const stdin = openSync(file, 'r');
      const child = spawn(program.path, ['exec', '-i', 'server', '--', 'sha256sum'], {
        env: { ...process.env, KUBECONFIG: agent.kubeconfig },
        stdio: [stdin, 'pipe', 'inherit'],
      });
      closeSync(stdin);
      expect(await text(child.stdout!)).toContain(createHash('sha256').update(bytes).digest('hex'));
    });

    test('attach passes what is typed, and what comes back', async () => {
      const child = spawn(program.path, ['attach', '-i', 'reader'], {
        env: { ...process.env, KUBECONFIG: agent.kubeconfig },
        stdio: ['pipe', 'pipe', 'ignore'],
      });
      const lines = new Lines();
      child.stdout.on('data', (chunk: Buffer) => {
        for (const line of chunk.toString().split('\n')) lines.push(line);
      });
      child.stdin.write(`from ${program.label}\n`);
      await lines.waitFor((line) => line === `got from ${program.label}`);
      child.kill('SIGKILL');
    });

    test('50 connections at a time through one port-forward', async () => {
      const forwarding = agent.follow(['port-forward', 'pod/server', `:${port}`], program);
      const line = await forwarding.lines.waitFor((one) => one.startsWith('Forwarding from 127.0.0.1:'));
      const local = Number(/127\.0\.0\.1:(\d+)/.exec(line)?.[1]);
      const rounds = Array.from({ length: 50 }, async () => {
        const sent = randomBytes(100_000);
        const socket = connect(local, '127.0.0.1');
        const got = await echoed(socket, sent);
        return got.equals(sent);
      });
      expect(await Promise.all(rounds)).toEqual(Array.from({ length: 50 }, () => true));
      forwarding.stop();
    });

    test('cp there and back', async () => {
      const [from, back] = [join(dir.path, `from-${program.label}`), join(dir.path, `back-${program.label}`)];
      const inside = `${dir.path}/inside-${program.label}`;
      writeFileSync(from, randomBytes(1_000_000));
      await agent.ok(['cp', from, `server:${inside}`], '', program);
      await agent.ok(['cp', `server:${inside}`, back], '', program);
      expect(readFileSync(back).equals(readFileSync(from))).toBe(true);
    });
  });

  describe('@kubernetes/client-node', () => {
    const config = (): KubeConfig => {
      const made = new KubeConfig();
      made.loadFromFile(agent.kubeconfig);
      return made;
    };

    test('exec', async () => {
      const [out, err] = [new PassThrough(), new PassThrough()];
      const words = ['sh', '-c', 'cat; echo e >&2; exit 5'];
      const ended = new Promise<V1Status>((resolve, reject) => {
        new Exec(config())
          .exec('default', 'server', 'main', words, out, err, Readable.from(['typed']), false, resolve)
          .catch(reject);
      });
      const status = await ended;
      expect(status).toMatchObject({ reason: 'NonZeroExitCode', details: { causes: [{ message: '5' }] } });
      expect([String(out.read()), String(err.read())]).toEqual(['typed', 'e\n']);
    });

    test('attach', async () => {
      const out = new PassThrough();
      const lines = new Lines();
      out.on('data', (chunk: Buffer) => {
        lines.push(chunk.toString());
      });
      const typed = new PassThrough();
      const socket = await new Attach(config()).attach('default', 'reader', 'main', out, null, typed, false);
      typed.write('from client-node\n');
      await lines.waitFor((line) => line.includes('got from client-node'));
      socket.close();
    });

    test('port-forward', async () => {
      const forward = new PortForward(config());
      const server = createServer({ allowHalfOpen: true }, (socket) => {
        void forward.portForward('default', 'server', [port], socket, null, socket);
      });
      server.listen(0, '127.0.0.1');
      await once(server, 'listening');
      const address = server.address() as { readonly port: number };
      const sent = randomBytes(50_000);
      const socket = connect(address.port, '127.0.0.1');
      socket.write(sent);
      let got = Buffer.alloc(0);
      for await (const chunk of socket) {
        got = Buffer.concat([got, chunk as Buffer]);
        if (got.length >= sent.length) break;
      }
      expect(got.equals(sent)).toBe(true);
      server.close();
    });
  });

  test.skipIf(noPython !== undefined)("Python's kubernetes: exec, attach, port-forward", async () => {
    const script = `
import json, sys
from kubernetes import client, config
from kubernetes.stream import stream, portforward
config.load_kube_config(sys.argv[1])
api, port = client.CoreV1Api(), int(sys.argv[2])
told = {}
run = stream(api.connect_get_namespaced_pod_exec, 'server', 'default', command=['sh', '-c', 'read line; echo out $line; echo err >&2; exit 6'],
             stderr=True, stdin=True, stdout=True, tty=False, _preload_content=False)
run.write_stdin('typed\\n')
run.run_forever(timeout=20)
told['exec'] = [run.read_stdout(), run.read_stderr(), run.returncode]
joined = stream(api.connect_get_namespaced_pod_attach, 'reader', 'default', stderr=True, stdin=True, stdout=True, tty=False, _preload_content=False)
joined.write_stdin('from python\\n')
seen = ''
while joined.is_open() and 'got from python' not in seen:
    joined.update(timeout=5)
    if joined.peek_stdout(): seen += joined.read_stdout()
joined.close()
told['attach'] = 'got from python' in seen
forward = portforward(api.connect_get_namespaced_pod_portforward, 'server', 'default', ports=str(port))
sock = forward.socket(port)
sock.setblocking(True)
sock.sendall(b'x' * 50000)
got = b''
while len(got) < 50000:
    part = sock.recv(65536)
    if not part: break
    got += part
sock.close()
told['forward'] = got == b'x' * 50000
print(json.dumps(told))
`;
    const said = await new Promise<string>((resolve, reject) => {
      const env = { ...process.env, PYTHONPATH: python };
      execFile(
        'python3',
        ['-c', script, agent.kubeconfig, String(port)],
        { env, timeout: 50_000 },
        (error, stdout, stderr) => {
          if (error) reject(new Error(`${error.message}${stderr}`));
          else resolve(stdout);
        },
      );
    });
    expect(JSON.parse(said)).toEqual({ exec: ['out typed\n', 'err\n', 6], attach: true, forward: true });
  });
});

/** Waits until somebody listens on a port. */
async function accepts(port: number): Promise<void> {
  for (;;) {
    const socket = connect(port, '127.0.0.1');
    const open = await new Promise<boolean>((resolve) => {
      socket.once('connect', () => {
        resolve(true);
      });
      socket.once('error', () => {
        resolve(false);
      });
    });
    socket.destroy();
    if (open) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
