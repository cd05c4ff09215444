/**
 * The server of the API bench, in a separate process: lists, one flood of watch events, and patches that are echoed. Prints its port.
 * Query of a watch: the first without `resourceVersion` past the list gets `events` changes at once.
 */
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createSecureServer } from 'node:http2';
import type { AddressInfo } from 'node:net';

const [pods = '5000', events = '20000', keyFile, certFile] = process.argv.slice(2);
const pod = (at: number, version: number): object => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: {
    name: `pod-${at}`,
    namespace: 'default',
    uid: `00000000-0000-4000-8000-${String(at).padStart(12, '0')}`,
    resourceVersion: String(version),
    creationTimestamp: '2026-03-04T05:06:07Z',
    labels: { app: 'bench', shard: String(at % 10) },
    managedFields: Array.from({ length: 2 }, (_, i) => ({
      manager: `manager-${i}`,
      operation: 'Update',
      apiVersion: 'v1',
      time: '2026-03-04T05:06:07Z',
      fieldsType: 'FieldsV1',
      fieldsV1: {
        'f:metadata': { 'f:labels': { '.': {}, 'f:app': {}, 'f:shard': {} } },
        'f:spec': {
          'f:containers': { 'k:{"name":"c"}': { '.': {}, 'f:image': {}, 'f:name': {}, 'f:resources': {} } },
        },
      },
    })),
  },
  spec: {
    nodeName: 'node-a',
    restartPolicy: 'Always',
    serviceAccountName: 'default',
    containers: [
      {
        name: 'c',
        image: 'registry.example/app:1',
        command: ['/bin/app', '--serve'],
        env: Array.from({ length: 8 }, (_, i) => ({ name: `VARIABLE_${i}`, value: `value-${i}` })),
        resources: { requests: { cpu: '100m', memory: '64Mi' }, limits: { cpu: '200m', memory: '128Mi' } },
        volumeMounts: [
          { name: 'token', mountPath: '/var/run/secrets/kubernetes.io/serviceaccount', readOnly: true },
        ],
      },
    ],
    volumes: [
      {
        name: 'token',
        projected: { sources: [{ serviceAccountToken: { expirationSeconds: 3607, path: 'token' } }] },
      },
    ],
    tolerations: [
      {
        key: 'node.kubernetes.io/not-ready',
        operator: 'Exists',
        effect: 'NoExecute',
        tolerationSeconds: 300,
      },
    ],
  },
  status: {
    phase: 'Running',
    podIP: '10.1.2.3',
    conditions: ['Initialized', 'Ready', 'ContainersReady', 'PodScheduled'].map((type) => ({
      type,
      status: 'True',
      lastTransitionTime: '2026-03-04T05:06:07Z',
    })),
    containerStatuses: [
      {
        name: 'c',
        ready: true,
        restartCount: 0,
        image: 'registry.example/app:1',
        state: { running: { startedAt: '2026-03-04T05:06:07Z' } },
      },
    ],
  },
});

const count = Number(pods);
const items = Array.from({ length: count }, (_, at) => JSON.stringify(pod(at, at + 1)));
const list = (from: number, to: number): string =>
  `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"${count + 1}"${to < count ? `,"continue":"${to}"` : ''}},"items":[${items.slice(from, to).join(',')}]}`;
const whole = list(0, count);
const flood = Buffer.from(
  Array.from(
    { length: Number(events) },
    (_, i) => `${JSON.stringify({ type: 'MODIFIED', object: pod(i % count, count + 2 + i) })}\n`,
  ).join(''),
);
const echo = JSON.stringify(pod(1, 1));
const connections = new Set<object>();

async function pour(response: ServerResponse): Promise<void> {
  for (let at = 0; at < flood.length; at += 64 * 1024) {
    if (response.destroyed) return;
    if (!response.write(flood.subarray(at, at + 64 * 1024)))
      await new Promise((resolve) => response.once('drain', resolve));
  }
}

const answer = (request: IncomingMessage, response: ServerResponse): void => {
  connections.add(request.socket);
  const url = new URL(request.url ?? '/', 'http://bench');
  const json = { 'content-type': 'application/json' };
  if (url.searchParams.get('sendInitialEvents') !== null) {
    response
      .writeHead(422, json)
      .end('{"kind":"Status","code":422,"reason":"Invalid","message":"no streamed lists here"}');
  } else if (url.searchParams.get('watch') !== null) {
    response.writeHead(200, json);
    void pour(response);
  } else if (url.pathname === '/connections') {
    response.writeHead(200, json).end(String(connections.size));
    connections.clear();
  } else if (request.method === 'GET') {
    const [limit, from] = [Number(url.searchParams.get('limit')), Number(url.searchParams.get('continue'))];
    response.writeHead(200, json).end(limit > 0 ? list(from, Math.min(count, from + limit)) : whole);
  } else request.resume().on('end', () => response.writeHead(200, json).end(echo));
};
const server =
  keyFile !== undefined && certFile !== undefined
    ? createSecureServer(
        { allowHTTP1: true, key: readFileSync(keyFile), cert: readFileSync(certFile) },
        answer as never,
      )
    : createServer(answer);
server.listen(0, '127.0.0.1', () => {
  console.log((server.address() as AddressInfo).port);
});
