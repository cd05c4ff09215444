import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, credentials } from '@grpc/grpc-js';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { RateLimiter } from '../../../src/api/rest/rate-limiter.ts';
import { FakeClock } from '../../../src/base/fake-clock.ts';
import type { Pod } from '../../../src/kube/types.ts';
import { encodeGet, encodeList } from '../../../src/containers/podresources/messages.ts';
import { servePodResources } from '../../../src/containers/podresources/server.ts';
import { podResourcesRate, PodResourcesService } from '../../../src/containers/podresources/service.ts';

const image = 'i';
const pod: Pod = {
  metadata: { name: 'web', namespace: 'ns', uid: 'u' },
  spec: {
    initContainers: [
      { name: 'setup', image },
      { name: 'sidecar', image, restartPolicy: 'Always' },
    ],
    containers: [{ name: 'c', image }],
  },
};
const told = { name: 'web', namespace: 'ns', containers: [{ name: 'sidecar' }, { name: 'c' }] };

let dir: string;
let socket: string;
const clock = new FakeClock();
const counted: string[] = [];
const open: { close(): void }[] = [];

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'pt-resources-'));
  socket = join(dir, 'pod-resources/kubelet.sock');
  counted.length = 0;
  const limit = new RateLimiter(clock, podResourcesRate.qps, podResourcesRate.burst);
  const service = new PodResourcesService({
    mayAsk: () => limit.tryAcquire(),
    activePods: () => [pod],
    podByName: (namespace, name) => (namespace === 'ns' && name === 'web' ? pod : undefined),
    count: (...what) => counted.push(what.join(' ')),
  });
  const first = await servePodResources(service, socket);
  open.push(first, await servePodResources(service, socket)); // as after an agent that was killed
});

afterEach(() => {
  for (const one of open.splice(0)) one.close();
  rmSync(dir, { recursive: true });
});

const bytes = (value: Buffer): Buffer => value;

/** What the call answers, or its failure as `code: details`. */
function ask(path: string, request: Buffer = Buffer.alloc(0)): Promise<Buffer | string> {
  const client = new Client(`unix://${socket}`, credentials.createInsecure());
  open.push(client);
  return new Promise((resolve) => {
    client.makeUnaryRequest(path, bytes, bytes, request, (failure, answer) => {
      resolve(failure ? `${failure.code}: ${failure.details}` : (answer ?? Buffer.alloc(0)));
    });
  });
}

test('pods that are active are listed with their long-running containers', async () => {
  expect(await ask('/v1.PodResourcesLister/List')).toEqual(encodeList([told]));
  expect(await ask('/v1alpha1.PodResourcesLister/List')).toEqual(
    encodeList([{ ...told, containers: [{ name: 'c' }] }]),
  );
  expect(counted).toEqual(['list v1 request', 'list v1alpha1 request']);
});

test('one pod is returned by its name', async () => {
  const named = (name: string): Buffer =>
    Buffer.concat([
      Buffer.from([10, name.length]),
      Buffer.from(name),
      Buffer.from([18, 2]),
      Buffer.from('ns'),
    ]);
  expect(await ask('/v1.PodResourcesLister/Get', named('web'))).toEqual(encodeGet(told));
  expect(await ask('/v1.PodResourcesLister/Get', named('other'))).toBe(
    '2: pod other in namespace ns not found',
  );
  expect(counted).toEqual(['get v1 request', 'get v1 request', 'get v1 error']);
});

test('there is nothing to give out, and no other call', async () => {
  expect(await ask('/v1.PodResourcesLister/GetAllocatableResources')).toEqual(Buffer.alloc(0));
  expect(await ask('/v1.PodResourcesLister/Take')).toMatch(/^12: /);
});

test('requests above the rate limit are rejected', async () => {
  const answers: unknown[] = [];
  for (let i = 0; i < 11; i++) answers.push(await ask('/v1.PodResourcesLister/List'));
  expect(answers.filter((one) => one === '8: rejected by rate limit')).toHaveLength(1);
  expect(counted).toHaveLength(10);
  await clock.advance(10);
  expect(await ask('/v1.PodResourcesLister/List')).toEqual(encodeList([told]));
});
