import { spawnSync } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { Node } from '../../src/kube/types.ts';
import { type IsolationKind, isolationKinds } from '../../src/providers/oci/isolation.ts';
import { found } from '../support/found.ts';
import { busyboxImage, layoutOf } from '../support/images.ts';
import { noKubectl } from './kubectl.ts';
import { condition, freePort, makeDir, Podtender, program } from './podtender.ts';

const isRoot = process.getuid?.() === 0;
const nobody = 65534;
/** The users that run the agent: this test's own, and nobody when this is root. */
const users = [undefined, ...(isRoot ? [nobody] : [])];
const cases = users.flatMap((uid) => isolationKinds.map((kind) => ({ uid, kind })));

/** A web server that makes its page, serves it in the foreground of a shell, and says goodbye at its stop signal. */
const script = [
  'mkdir -p www',
  'echo "hello from $KIND" >www/index.html',
  'httpd -f -p "127.0.0.1:$PORT" -h www & server=$!',
  'trap "echo bye; kill $server; exit 0" USR1',
  'echo up',
  'wait',
].join('\n');

const webPod = (kind: IsolationKind, port: number): string =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'web', namespace: 'default' },
    spec: {
      automountServiceAccountToken: false,
      terminationGracePeriodSeconds: 10,
      containers: [
        {
          name: 'main',
          image: 'localhost/web:1',
          env: [
            { name: 'KIND', value: kind },
            { name: 'PORT', value: String(port) },
          ],
          readinessProbe: { httpGet: { host: '127.0.0.1', path: '/index.html', port }, periodSeconds: 1 },
        },
      ],
    },
  });

describe.skipIf(noKubectl !== undefined)('a web server from an image archive', { timeout: 90_000 }, () => {
  const archives = makeDir('pt-web-archive-');
  const archive = join(archives.path, 'web.tar');
  let agent: Podtender | undefined;
  let remove: (() => void) | undefined;

  beforeAll(() => {
    const run = { Entrypoint: ['/bin/sh', '-c'], Cmd: [script], WorkingDir: '/srv', StopSignal: 'SIGUSR1' };
    writeFileSync(archive, layoutOf([busyboxImage('localhost/web:1', run)]));
    chmodSync(archives.path, 0o755);
  });
  afterEach(async () => {
    await agent?.end();
    remove?.();
    [agent, remove] = [undefined, undefined];
  });
  afterAll(() => {
    archives.remove();
  });

  /** Makes a data directory of the user's own with the image of the archive in it. */
  function importAs(uid: number | undefined): string {
    const dir = makeDir('pt-web-');
    remove = () => {
      dir.remove();
    };
    const dataDir = join(dir.path, 'data');
    for (const path of [dataDir, join(dir.path, 'manifests')]) mkdirSync(path);
    if (uid !== undefined) for (const path of [dir.path, dataDir]) chownSync(path, uid, uid);
    const words = [program, 'image', 'import', '--data-dir', dataDir, archive];
    const { status, stdout, stderr } = spawnSync(process.execPath, words, {
      encoding: 'utf8',
      ...(uid !== undefined && { uid, gid: uid }),
    });
    expect(`${stdout}${stderr}`).toMatch(/^localhost\/web:1: ready, [0-9a-f]{12}, /m);
    expect(status).toBe(0);
    return dataDir;
  }

  test.for(cases)(
    'answers, is looked into and stops with isolation $kind (user $uid)',
    async ({ uid, kind }, { skip }) => {
      const dataDir = importAs(uid);
      const port = await freePort();
      const args = ['--provider=oci', `--oci-isolation=${kind}`, '--log-level=warn'];
      try {
        agent = await Podtender.up({
          dataDir,
          manifests: join(dataDir, '../manifests'),
          args,
          ...(uid !== undefined && { uid }),
        });
      } catch (reason) {
        const [, why] = /no isolation for containers: (.*?)\. Install/.exec(String(reason)) ?? [];
        if (why === undefined) throw reason;
        console.log(`skipped as user ${uid ?? 'of this test'}: ${why}`);
        return skip(why);
      }
      await agent.ok(['wait', '--for=create', 'node/e2e', '--timeout=30s']);
      const { metadata } = JSON.parse(await agent.ok(['get', 'node', 'e2e', '-o', 'json'])) as Node;
      expect(metadata?.labels?.['node.podtender.io/isolation']).toBe(kind);

      await agent.ok(['create', '-f', '-'], webPod(kind, port));
      const watch = agent.watchPods();
      await watch.until('web', (pod) => condition(pod, 'Ready') === 'True', 60_000);
      expect(await pageOf(port)).toBe(`hello from ${kind}\n`);
      expect(await agent.ok(['exec', 'web', '--', 'cat', 'www/index.html'])).toBe(`hello from ${kind}\n`);
      expect(await agent.ok(['logs', 'web'])).toBe('up\n');

      const log = agent.follow(['logs', '-f', 'web']);
      await log.lines.waitFor((line) => line === 'up');
      await agent.ok(['delete', 'pod', 'web', '--timeout=30s']);
      await log.ended;
      expect(log.lines.all).toEqual(['up', 'bye']);
      expect(
        await found('no answer', async () => ((await pageOf(port)) === undefined ? 'none' : undefined)),
      ).toBe('none');
    },
  );
});

/** Returns the page; `undefined` when nothing listens. */
const pageOf = (port: number): Promise<string | undefined> =>
  fetch(`http://127.0.0.1:${port}/index.html`).then(
    (response) => response.text(),
    () => undefined,
  );
