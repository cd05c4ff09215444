import { request } from 'node:https';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { EmbeddedApiServer } from '../../../src/apiserver/index.ts';
import { call } from '../support.ts';
import { definition, definitionsPath, schema } from './support.ts';

let server: EmbeddedApiServer;
beforeAll(async () => {
  server = await EmbeddedApiServer.start();
});
afterAll(() => server.stop());

interface Watching {
  /** The types and names of all events, when the server has ended the watch. */
  readonly events: Promise<readonly string[]>;
  destroy(): void;
}

const lineOf = (line: string): string => {
  const { type, object } = JSON.parse(line) as { type: string; object: { metadata: { name: string } } };
  return `${type} ${object.metadata.name}`;
};

/** Begins a watch, and resolves when its first event has come. */
function watch(path: string): Promise<Watching> {
  const { port, ca, admin } = server;
  return new Promise((resolve, reject) => {
    const target = { host: '127.0.0.1', port, path: `${path}?watch=1`, ca, agent: false };
    const outgoing = request({ ...target, cert: admin.cert, key: admin.key }, (incoming) => {
      let text = '';
      const events = new Promise<readonly string[]>((done) => {
        incoming.on('end', () => {
          done(text.trim().split('\n').map(lineOf));
        });
      });
      incoming.on('error', () => undefined);
      incoming.on('data', (chunk: Buffer) => {
        text += chunk.toString();
        resolve({ events, destroy: () => outgoing.destroy() });
      });
    });
    outgoing.on('error', reject);
    outgoing.end();
  });
}

const pathOf = (plural: string): string => `/apis/example.com/v1/namespaces/default/${plural}`;

async function served(plural: string, kind: string): Promise<void> {
  await call(server, 'POST', definitionsPath, definition(plural, { kind }));
  const thing = { apiVersion: 'example.com/v1', kind, metadata: { name: 'a' }, spec: {} };
  expect((await call(server, 'POST', pathOf(plural), thing)).status).toBe(201);
}

const patch = (path: string, body: object): ReturnType<typeof call> =>
  call(server, 'PATCH', path, body, 'application/merge-patch+json');

test('a watch ends when the schema of its definition changes', async () => {
  await served('schemas', 'Schema');
  const watching = await watch(pathOf('schemas'));
  const versions = [
    { name: 'v1', served: true, storage: true, ...schema({ type: 'object', description: 'other' }) },
  ];
  const answer = await patch(`${definitionsPath}/schemas.example.com`, { spec: { versions } });
  expect(answer.status).toBe(200);
  expect(await watching.events).toEqual(['ADDED a']);
});

test('a watch ends when its definition goes, after the deletion of the last object', async () => {
  await served('leavers', 'Leaver');
  const watching = await watch(pathOf('leavers'));
  await call(server, 'DELETE', `${definitionsPath}/leavers.example.com`);
  expect(await watching.events).toEqual(['ADDED a', 'DELETED a']);
});

test('a watch goes on when only metadata or another definition change', async () => {
  await served('stayers', 'Stayer');
  const watching = await watch(pathOf('stayers'));
  await patch(`${definitionsPath}/stayers.example.com`, { metadata: { labels: { a: 'b' } } });
  await served('others', 'Other');
  await patch(`${pathOf('stayers')}/a`, { spec: { later: true } });
  await patch(`${definitionsPath}/stayers.example.com`, { spec: { names: { shortNames: ['st'] } } });
  expect(await watching.events).toEqual(['ADDED a', 'MODIFIED a']);
});

test('watches of built-in kinds do not depend on definitions', async () => {
  const watching = await watch('/api/v1/namespaces');
  await served('strangers', 'Stranger');
  await call(server, 'DELETE', `${definitionsPath}/strangers.example.com`);
  const ended = await Promise.race([watching.events, Promise.resolve('open')]);
  expect(ended).toBe('open');
  watching.destroy();
});
