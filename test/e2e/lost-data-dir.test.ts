import { copyFileSync, existsSync, rmSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Node } from '../../src/kube/types.ts';
import { soon } from '../support/found.ts';
import { noKubectl } from './kubectl.ts';
import { condition, makeDir, Podtender } from './podtender.ts';

const podOf = (name: string): string =>
  `apiVersion: v1\nkind: Pod\nmetadata: {name: ${name}}\nspec: {containers: [{name: main, image: a}]}\n`;

/** The data directory goes away under a running agent (the "first hour"). */
describe.skipIf(noKubectl !== undefined)(
  'a data directory that is deleted under `up`',
  { timeout: 60_000 },
  () => {
    const dir = makeDir();
    const dataDir = `${dir.path}/data`;
    let agent: Podtender;

    beforeAll(async () => {
      agent = await Podtender.up({
        dataDir,
        args: ['--provider', 'memory', '--node-status-update-frequency=1s'],
      });
      copyFileSync(agent.kubeconfig, `${dir.path}/kubeconfig`);
      agent.kubeconfig = `${dir.path}/kubeconfig`;
      await agent.ok(['apply', '-f', '-'], podOf('before'));
      await soon('it runs', async () => condition(await agent.pod('before'), 'Ready') === 'True');
      rmSync(dataDir, { recursive: true });
    }, 60_000);
    afterAll(async () => {
      await agent.end();
      dir.remove();
    }, 60_000);

    test('it says so', async () => {
      const { message } = await agent.tells(({ type, source }) => type === 'problem' && source === dataDir);
      expect(message).toBe(
        'the directory was deleted: no more pods are admitted; stop this agent and start it again',
      );
    });

    test('its node is not ready, and says why', async () => {
      const ready = async () => {
        const node = JSON.parse(await agent.ok(['get', 'node', 'e2e', '-o', 'json'])) as Node;
        return node.status?.conditions?.find(({ type }) => type === 'Ready');
      };
      await soon('the node is not ready', async () => (await ready())?.status === 'False');
      expect((await ready())?.message).toContain(`the data directory ${dataDir} was deleted`);
    });

    test('new pods are refused, and what runs goes on', async () => {
      const tolerations = '[{operator: Exists}]';
      await agent.ok(
        ['apply', '-f', '-'],
        podOf('after').replace('spec: {', `spec: {nodeName: e2e, tolerations: ${tolerations}, `),
      );
      await soon('it is refused', async () => (await agent.pod('after')).status?.phase === 'Failed');
      expect((await agent.pod('after')).status).toMatchObject({
        reason: 'NodeStorageLost',
        message: `Pod was rejected: the data directory ${dataDir} was deleted.`,
      });
      expect((await agent.pod('before')).status?.phase).toBe('Running');
    });

    test('Ctrl-C ends it, and the directory is not made anew', async () => {
      agent.signal('SIGINT');
      expect(await agent.ended).toBe(0);
      expect(existsSync(`${dataDir}/agent.lock`)).toBe(false);
    });
  },
);
