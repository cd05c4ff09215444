import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { Server, ServerCredentials, type sendUnaryData, type ServerUnaryCall } from '@grpc/grpc-js';
import { afterEach, expect, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { silentLogger } from '../../src/base/logger.ts';
import { collectorUrl, startTracing } from '../../src/app/tracing.ts';

const deps = { nodeName: 'node-a', clock: systemClock, logger: silentLogger };
const closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
});

const bytes = (message: Buffer): Buffer => message;

/** An OTLP collector that keeps what it is sent. */
async function collector(): Promise<{ readonly port: number; readonly received: Buffer[] }> {
  const received: Buffer[] = [];
  const server = new Server();
  const method = {
    path: '/opentelemetry.proto.collector.trace.v1.TraceService/Export',
    requestStream: false,
    responseStream: false,
    requestSerialize: bytes,
    requestDeserialize: bytes,
    responseSerialize: bytes,
    responseDeserialize: bytes,
  };
  server.addService(
    { Export: method },
    {
      Export: ({ request }: ServerUnaryCall<Buffer, Buffer>, answer: sendUnaryData<Buffer>) => {
        received.push(request);
        answer(null, Buffer.alloc(0));
      },
    },
  );
  closing.push(() => {
    server.forceShutdown();
  });
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (failure, bound) => {
      if (failure) reject(failure);
      else resolve(bound);
    });
  });
  return { port, received };
}

test('the settings send spans to the collector, the last ones at the end', async () => {
  const { port, received } = await collector();
  const tracing = await startTracing(
    { endpoint: `127.0.0.1:${port}`, samplingRatePerMillion: 1_000_000 },
    deps,
  );
  tracing?.tracer.start('syncPod', { attributes: { 'k8s.pod': 'ns/web' } }).end();
  await tracing?.stop();
  const sent = Buffer.concat(received).toString('latin1');
  for (const word of ['syncPod', 'ns/web', 'podtender', 'node-a']) expect(sent).toContain(word);
});

test.for([
  ['localhost:4317', 'http://localhost:4317'],
  ['dns:///collector:4317', 'http://collector:4317'],
  ['dns://8.8.8.8/collector:4317', 'http://collector:4317'],
  ['https://collector:4317', 'https://collector:4317'],
  ['unix:///run/otel.sock', 'unix:///run/otel.sock'],
])('the endpoint %s is dialled as %s', ([endpoint = '', url]) => {
  expect(collectorUrl(endpoint)).toBe(url);
});

const root = join(import.meta.dirname, '../..');

/** Runs a script in a process of its own that notes each package that is resolved, and can hide one. */
function inProcess(script: string, hidden = 'none'): { readonly stdout: string; readonly stderr: string } {
  const hooks = `
    import { registerHooks } from 'node:module';
    const seen = new Set();
    registerHooks({ resolve(name, context, next) {
      if (name === ${JSON.stringify(hidden)}) throw Object.assign(new Error("Cannot find package '" + name + "'"), { code: 'ERR_MODULE_NOT_FOUND' });
      if (/opentelemetry/.test(name)) seen.add(name);
      return next(name, context);
    } });
    const { startTracing } = await import('./src/app/tracing.ts');
    const { systemClock: clock } = await import('./src/base/clock.ts');
    const logger = { warn() {}, error() {}, info() {}, debug() {} };
    const deps = { nodeName: 'n', clock, logger };
    ${script}
    process.stdout.write([...seen].sort().join(' '));
    process.exit(0);`;
  return spawnSync(process.execPath, ['--input-type=module', '-e', hooks], { cwd: root, encoding: 'utf8' });
}

test('without settings nothing of OpenTelemetry is loaded', () => {
  const { stdout, stderr } = inProcess(`
    await Promise.all(['./src/index.ts', './src/server/index.ts', './src/providers/cri/index.ts', './src/providers/process/index.ts', './src/app/compose.ts'].map((file) => import(file)));
    if (await startTracing(undefined, deps)) throw new Error('it traces');
  `);
  expect([stdout, stderr]).toEqual(['', '']);
});

test('with settings it is', () => {
  const { stdout } = inProcess(`await startTracing({}, deps);`);
  expect(stdout).toContain('@opentelemetry/sdk-trace');
});

test('a package that is not installed is named', () => {
  const { stderr } = inProcess(`await startTracing({}, deps);`, '@opentelemetry/sdk-trace');
  expect(stderr).toContain(
    "tracing is set, but OpenTelemetry's SDK cannot be loaded (install the optional peer dependencies of podtender, or leave tracing out): Cannot find package '@opentelemetry/sdk-trace'",
  );
});

test('an SDK that the user has registered is used without settings', () => {
  const { stdout, stderr } = inProcess(`
    const { trace } = await import('@opentelemetry/api');
    const { TracerProvider, InMemorySpanExporter, SimpleSpanProcessor } = await import('@opentelemetry/sdk-trace');
    const exporter = new InMemorySpanExporter();
    trace.setGlobalTracerProvider(new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] }));
    const tracing = await startTracing(undefined, deps);
    tracing.tracer.start('syncPod').end();
    if (exporter.getFinishedSpans()[0]?.name !== 'syncPod') throw new Error('no span');
  `);
  expect(stderr).toBe('');
  expect(stdout).not.toContain('otlp');
});
