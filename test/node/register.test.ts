import { expect, test } from 'vitest';
import { FakeClock } from '../../src/base/fake-clock.ts';
import type { Node } from '../../src/kube/types.ts';
import { initialNode, registerNode } from '../../src/node/register.ts';
import { ApiError } from '../../src/api/client.ts';

const identity = {
  name: 'n',
  hostname: 'n',
  operatingSystem: 'linux',
  architecture: 'amd64',
  optionalLabels: { 'kubernetes.io/role': 'agent' },
};
const error = (status: number, message: string): ApiError =>
  new ApiError(status, { reason: status === 403 ? 'Forbidden' : 'NotFound', message });

/** An API server that forbids labels by name. */
const server = (forbidden: string): { created: Node[]; nodes: never } => {
  const created: Node[] = [];
  const nodes = {
    create: async (node: Node): Promise<Node> => {
      if (node.metadata?.labels?.[forbidden] !== undefined)
        throw error(403, `label ${forbidden} is forbidden`);
      created.push(node);
      return node;
    },
    get: () => Promise.reject(error(404, 'nodes "n" not found')),
  };
  return { created, nodes: nodes as never };
};

test('labels that the identity may not set are left out, and named in the log', async () => {
  const { created, nodes } = server('kubernetes.io/role');
  const log: unknown[] = [];
  const logger = { warn: (...line: unknown[]) => void log.push(line), info: () => undefined } as never;
  const deps = { nodes, clock: new FakeClock(), logger, optionalLabels: ['kubernetes.io/role'] };
  await registerNode(deps, async () => initialNode(identity), new AbortController().signal);
  expect(created[0]?.metadata?.labels).not.toHaveProperty('kubernetes.io/role');
  expect(created[0]?.metadata?.labels).toMatchObject({ 'kubernetes.io/hostname': 'n' });
  expect(JSON.stringify(log)).toContain('kubernetes.io/role');
});

test('a node that is forbidden and not there: the refusal is the reason, not the missing node', async () => {
  const { nodes } = server('kubernetes.io/hostname');
  const log: string[] = [];
  const logger = {
    warn: (text: string, fields: object) => void log.push(`${text} ${JSON.stringify(fields)}`),
  } as never;
  const stop = new AbortController();
  const clock = new FakeClock();
  const done = registerNode({ nodes, clock, logger }, async () => initialNode(identity), stop.signal);
  await clock.advance(50);
  stop.abort();
  await done;
  expect(log[0]).toContain('label kubernetes.io/hostname is forbidden');
});
