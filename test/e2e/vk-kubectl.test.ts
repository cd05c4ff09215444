import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { EmbeddedApiServer } from '../../src/apiserver/index.ts';
import { soon } from '../support/found.ts';
import { TerminalClient } from '../support/terminal-client.ts';
import { follow, type Following, kubectl, kubectls, Lines, noKubectl, type Outcome } from './kubectl.ts';
import { freePort, makeDir, program } from './podtender.ts';

const example = new URL('../../examples/mock-provider.ts', import.meta.url).pathname;
const node = 'mock-node';

const podOf = (name: string): string =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'default' },
    spec: {
      nodeName: node,
      automountServiceAccountToken: false,
      containers: ['main', 'side'].map((container) => ({ name: container, image: 'any', stdin: true })),
    },
  });

/** `podtender vk` with the ported mock provider, used by every kubectl of this machine. */
describe.skipIf(noKubectl !== undefined)(
  'kubectl with a virtual-kubelet provider',
  { timeout: 60_000 },
  () => {
    const dir = makeDir();
    const kubeconfig = `${dir.path}/admin.kubeconfig`;
    const followings: Following[] = [];
    const said = new Lines();
    let server: EmbeddedApiServer;
    let agent: ChildProcess;

    const ask = (args: readonly string[], input = '', using = kubectls[0]): Promise<Outcome> =>
      kubectl(kubeconfig, args, { input, program: using });
    const ok = async (args: readonly string[], input = '', using = kubectls[0]): Promise<string> => {
      const { code, stdout, stderr } = await ask(args, input, using);
      if (code !== 0) throw new Error(`kubectl ${args.join(' ')} ended with ${code}: ${stderr}${stdout}`);
      return stdout;
    };
    const following = (args: readonly string[], using = kubectls[0]): Following => {
      const started = follow(kubeconfig, args, using);
      followings.push(started);
      return started;
    };

    beforeAll(async () => {
      server = await EmbeddedApiServer.start({ metricsApi: true });
      writeFileSync(kubeconfig, server.kubeconfig());
      writeFileSync(`${dir.path}/ca.crt`, server.ca);
      const args = ['vk', '--provider', example, '--nodename', node, '--kubeconfig', kubeconfig];
      agent = spawn(process.execPath, [program, ...args, '--startup-timeout', '30s'], {
        stdio: ['ignore', 'pipe', 'pipe'],
        env: {
          ...process.env,
          NODE_OPTIONS: '',
          KUBELET_PORT: '0',
          VKUBELET_POD_IP: '127.0.0.1',
          APISERVER_CA_CERT_LOCATION: `${dir.path}/ca.crt`,
        },
      });
      for (const stream of [agent.stdout, agent.stderr])
        if (stream)
          createInterface({ input: stream }).on('line', (line) => {
            said.push(line);
          });
      await said.waitFor((line) => line.includes('node is ready'), 40_000);
      await ok(['create', '-f', '-'], podOf('web'));
      await ok(['wait', '--for=condition=Ready', 'pod/web', '--timeout=20s']);
    }, 90_000);

    afterAll(async () => {
      for (const one of followings) one.stop();
      if (agent.exitCode === null && agent.signalCode === null) {
        agent.kill('SIGKILL');
        await once(agent, 'exit');
      }
      await server.stop();
      dir.remove();
    }, 30_000);

    test('the node says what the provider configured, and has the taint of its name', async () => {
      const registered = JSON.parse(await ok(['get', 'node', node, '-o', 'json'])) as object;
      expect(registered).toMatchObject({
        spec: {
          taints: [
            { key: 'virtual-kubelet.io/provider', value: 'mock-provider', effect: 'NoSchedule' },
          ] as unknown,
        },
        status: { capacity: { cpu: '20', memory: '100Gi', pods: '20' } },
      });
    });

    describe.each(kubectls)('$label', (using) => {
      test('logs prints the log of the container that is asked for, and the last lines alone', async () => {
        expect(await ok(['logs', 'web', '-c', 'side'], '', using)).toBe('side started\n');
        expect(await ok(['logs', 'web', '-c', 'side', '--tail=0'], '', using)).toBe('');
        expect(await ok(['logs', 'web', '-c', 'side', '--timestamps'], '', using)).toMatch(
          /^\d{4}-\d\d-\d\dT\S+Z side started\n$/,
        );
        const { code, stderr } = await ask(['logs', 'web', '-c', 'other'], '', using);
        expect(code).toBe(1);
        expect(stderr).toContain('other');
      });

      test('exec has output, input and exit codes', async () => {
        const exec = (...command: readonly string[]) => ['exec', 'web', '-c', 'main', '--', ...command];
        expect(await ok(exec('echo', 'hello', 'you'), '', using)).toBe('hello you\n');
        const piped = ['exec', '-i', 'web', '-c', 'main', '--', 'cat'];
        expect(await ok(piped, 'from outside\n', using)).toBe('from outside\n');
        for (const code of [1, 7, 255]) {
          const outcome = await ask(exec('exit', String(code)), '', using);
          expect(outcome.code).toBe(code);
          expect(outcome.stderr).toContain(`command terminated with exit code ${code}`);
        }
        const unknown = await ask(exec('ls'), '', using);
        expect(unknown.code).toBe(127);
        expect(unknown.stderr).toContain('ls: not found');
      });

      test('attach passes input on and shows what the container prints', async () => {
        const client = new TerminalClient(80, 24);
        const over = new AbortController();
        const env = { KUBECONFIG: kubeconfig, PATH: '/usr/bin:/bin', HOME: dir.path };
        const code = client.run([using.path, 'attach', '-i', 'web', '-c', 'main'], env, over.signal);
        try {
          await client.sees("If you don't see a command prompt");
          client.stdin.write(`a word by ${using.label}\n`);
          await client.sees(`got a word by ${using.label}`);
        } finally {
          over.abort();
          await code;
        }
        expect(await ok(['logs', 'web', '-c', 'main'], '', using)).toContain(
          `got a word by ${using.label}\n`,
        );
      });

      test('port-forward reaches the port of the pod', async () => {
        const local = await freePort();
        const forwarding = following(['port-forward', 'pod/web', `${local}:8080`], using);
        await forwarding.lines.waitFor((line) => line.startsWith('Forwarding from 127.0.0.1'));
        for (let connection = 0; connection < 2; connection++)
          expect(await (await fetch(`http://127.0.0.1:${local}/`)).text()).toBe(
            'hello from default/web on port 8080\n',
          );
        forwarding.stop();
      });

      test('top shows what containers and node use', async () => {
        let last = '';
        const isShown = async (): Promise<boolean> => {
          const { code, stdout, stderr } = await ask(
            ['top', 'pod', 'web', '--containers', '--no-headers'],
            '',
            using,
          );
          last = `${stderr}${stdout}`;
          return code === 0;
        };
        await soon('top shows the pod', isShown, { withinMs: 40_000, otherwise: () => last });
        const rows = last
          .trim()
          .split('\n')
          .map((row) => row.trim().split(/\s+/));
        expect(rows.map(([pod, container, , memory]) => [pod, container, memory])).toEqual([
          ['web', 'main', '8Mi'],
          ['web', 'side', '8Mi'],
        ]);
        // each container uses a tenth of a core
        for (const [, , cpu = ''] of rows) {
          expect(Number.parseInt(cpu, 10)).toBeGreaterThanOrEqual(90);
          expect(Number.parseInt(cpu, 10)).toBeLessThanOrEqual(110);
        }
        expect(await ok(['top', 'node', node, '--no-headers'], '', using)).toMatch(
          /^mock-node +\d+m +\d+% +16Mi +0% *\n$/,
        );
      });
    });

    test('logs -f goes on with the container and ends with the pod, which is gone', async () => {
      await ok(['create', '-f', '-'], podOf('brief'));
      await ok(['wait', '--for=condition=Ready', 'pod/brief', '--timeout=20s']);
      const log = following(['logs', '-f', 'brief', '-c', 'main']);
      await log.lines.waitFor((line) => line === 'main started');
      await ok(['delete', 'pod', 'brief', '--timeout=20s']);
      expect(await log.ended).toBe(0);
      expect((await ask(['get', 'pod', 'brief'])).stderr).toContain('not found');
    });

    test('the agent ends by SIGINT with exit code 0', async () => {
      agent.kill('SIGINT');
      const [code] = (await once(agent, 'exit')) as [number | null];
      expect(code, said.all.slice(-5).join('\n')).toBe(0);
    });
  },
);
