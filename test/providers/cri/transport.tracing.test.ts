import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  Metadata,
  Server,
  ServerCredentials,
  status,
  type sendUnaryData,
  type ServerUnaryCall,
} from '@grpc/grpc-js';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { traced } from '../../../src/base/tracing.ts';
import { encode } from '../../../src/providers/cri/codec.ts';
import { connectCri, type CriRuntime } from '../../../src/providers/cri/index.ts';
import { outline, Spans } from '../../support/spans.ts';

const bytes = (message: Buffer): Buffer => message;
const methodOf = (name: string) => ({
  path: `/runtime.v1.RuntimeService/${name}`,
  requestStream: false,
  responseStream: false,
  requestSerialize: bytes,
  requestDeserialize: bytes,
  responseSerialize: bytes,
  responseDeserialize: bytes,
});

let dir = '';
let server: Server;
let spans: Spans;
const seen: Metadata[] = [];

beforeAll(async () => {
  spans = await Spans.record();
  dir = mkdtempSync(join(tmpdir(), 'pt-cri-tracing-'));
  server = new Server();
  server.addService(
    { Version: methodOf('Version'), StartContainer: methodOf('StartContainer') },
    {
      Version: ({ metadata }: ServerUnaryCall<Buffer, Buffer>, answer: sendUnaryData<Buffer>) => {
        seen.push(metadata);
        const names = { runtimeName: 'fake', runtimeVersion: '1', runtimeApiVersion: 'v1' };
        answer(null, encode('VersionResponse', { version: '0.1.0', ...names }));
      },
      StartContainer: (_call: ServerUnaryCall<Buffer, Buffer>, answer: sendUnaryData<Buffer>) => {
        answer({ code: status.NOT_FOUND, details: 'no such container' });
      },
    },
  );
  await new Promise<void>((resolve, reject) => {
    server.bindAsync(`unix://${join(dir, 'cri.sock')}`, ServerCredentials.createInsecure(), (failure) => {
      if (failure) reject(failure);
      else resolve();
    });
  });
});
afterAll(() => {
  server.forceShutdown();
  spans.stop();
  rmSync(dir, { recursive: true });
});

async function connected<T>(traced: boolean, work: (runtime: CriRuntime) => Promise<T>): Promise<T> {
  const deps = { clock: systemClock, ...(traced && { tracer: spans.tracer }) };
  const runtime = connectCri(join(dir, 'cri.sock'), deps);
  try {
    return await work(runtime);
  } finally {
    await runtime.close();
  }
}

test('a call is a span, carried to the runtime as metadata; its failure is the runtime’s', async () => {
  await connected(true, (runtime) =>
    traced(spans.tracer, 'syncPod', {}, async () => {
      await runtime.version({});
      await runtime.startContainer({ containerId: 'x' }).catch(() => undefined);
    }),
  );
  const [root] = spans.roots();
  expect(root && outline(root)).toMatchInlineSnapshot(`
    "syncPod
      runtime.v1.RuntimeService/Version
      runtime.v1.RuntimeService/StartContainer failed: rpc error: code = NotFound desc = no such container"
  `);
  expect(root?.children[0]?.attributes).toEqual({
    'rpc.system': 'grpc',
    'rpc.service': 'runtime.v1.RuntimeService',
    'rpc.method': 'Version',
  });
  const [sent] = seen.at(-1)?.get('traceparent') ?? [];
  expect(String(sent).split('-')[1]).toBe(root?.traceId);
});

test('nothing is sent along when nothing is traced', async () => {
  await connected(false, (runtime) => runtime.version({}));
  expect(seen.at(-1)?.get('traceparent')).toEqual([]);
});
