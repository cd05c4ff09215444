import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Containerd, startContainerd, whyNoContainerd } from '../support/containerd.ts';
import { TerminalClient } from '../support/terminal-client.ts';
import { type KubectlProgram, kubectls, noKubectl } from './kubectl.ts';
import { condition, makeDir, Podtender } from './podtender.ts';

const watching = 'trap "stty size" WINCH; echo up; while :; do sleep 0.1; done';
const asking = 'echo asked; while read -r word; do echo "got $word"; done; echo ended';

const podOf = (name: string, line: string): string =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name },
    spec: {
      terminationGracePeriodSeconds: 1,
      containers: [
        {
          name: 'c',
          image: 'localhost/busybox:1',
          imagePullPolicy: 'IfNotPresent',
          command: ['/bin/sh', '-c', line],
          stdin: true,
          tty: true,
        },
      ],
    },
  });

const missing = (provider: string): string | undefined =>
  noKubectl ?? (provider === 'cri' ? whyNoContainerd() : undefined);

describe.each(['process', 'cri'])('real kubectl at a terminal, provider %s', (provider) => {
  describe.skipIf(missing(provider) !== undefined)('with what it needs', () => {
    const dir = makeDir();
    let containerd: Containerd | undefined;
    let agent: Podtender;

    beforeAll(async () => {
      containerd = provider === 'cri' ? await startContainerd() : undefined;
      const args = containerd
        ? ['--provider', 'cri', `--container-runtime-endpoint=unix://${containerd.socket}`]
        : [];
      agent = await Podtender.up({ dataDir: `${dir.path}/data`, args });
      const pods = agent.watchPods();
      await agent.ok(['wait', '--for=condition=Ready', 'node/e2e', '--timeout=30s']);
      for (const [name, line] of [
        ['watching', watching],
        ['asking', asking],
      ] as const) {
        await agent.ok(['create', '-f', '-'], podOf(name, line));
        await pods.until(name, (pod) => condition(pod, 'Ready') === 'True', 60_000);
      }
    }, 120_000);

    afterAll(async () => {
      await agent.end();
      await containerd?.stop();
      dir.remove();
    }, 60_000);

    /** kubectl at a terminal; ends with the test. */
    async function at<T>(
      client: TerminalClient,
      { path }: KubectlProgram,
      args: readonly string[],
      work: (code: Promise<number>) => Promise<T>,
    ): Promise<T> {
      const over = new AbortController();
      const env = { KUBECONFIG: agent.kubeconfig, PATH: '/usr/bin:/bin', HOME: dir.path };
      const code = client.run([path, ...args], env, over.signal);
      try {
        return await work(code);
      } finally {
        over.abort();
        await code;
      }
    }

    describe.each(kubectls)('$label', (program) => {
      // a runtime may start the command before it has the size
      const line = `until stty size 2>&1 | grep -q '[1-9]'; do :; done; stty size; ${watching}`;

      test('exec -it has the size of the terminal, and each later one', async () => {
        const client = new TerminalClient(80, 24);
        const args = ['exec', '-it', 'watching', '--', 'sh', '-c', line];
        await at(client, program, args, async () => {
          await client.sees('24 80\r\nup');
          client.sizes.push({ width: 133, height: 43 });
          await client.sees('43 133');
        });
      });

      test('exec -it gives the exit code, and Ctrl-C goes to the program', async () => {
        const client = new TerminalClient(80, 24);
        const trapping = 'trap "echo caught; exit 7" INT; echo up; while :; do sleep 0.1; done';
        await at(client, program, ['exec', '-it', 'watching', '--', 'sh', '-c', trapping], async (code) => {
          await client.sees('up');
          client.stdin.write('\u0003');
          await client.sees('caught');
          expect(await code).toBe(7);
        });
      });

      test('attach -it joins the container’s own terminal and resizes it', async () => {
        const client = new TerminalClient(90, 30);
        await at(client, program, ['attach', '-it', 'watching'], async () => {
          await client.sees('30 90');
          client.sizes.push({ width: 111, height: 22 });
          await client.sees('22 111');
        });
        expect(condition(await agent.pod('watching'), 'Ready')).toBe('True');
      });
    });

    test('the node declares what is there', async () => {
      const told = await agent.ok(['get', 'node', 'e2e', '-o', 'jsonpath={.status.declaredFeatures}']);
      const resizes = ['InPlacePodLevelResourcesVerticalScaling', 'InPlacePodVerticalScalingInitContainers'];
      expect(JSON.parse(told)).toEqual([
        'ExtendWebSocketsToKubelet',
        ...(provider === 'cri' ? resizes : []),
        'RestartAllContainersOnContainerExits',
      ]);
    });

    test('what is typed at attach -it reaches the container', async () => {
      const client = new TerminalClient(80, 24);
      await at(client, kubectls[0]!, ['attach', '-it', 'asking'], async () => {
        client.stdin.write('hello\n');
        await client.sees('got hello');
      });
    });
  });
});
