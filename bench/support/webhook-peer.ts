/**
 * A webhook server of config maps in a process of its own, for the bench: podtender's, or one written by hand on node:https. Serves
 * `/validate` and `/mutate`. Prints its port, then answers each line with the CPU time and the memory of the process.
 *
 * `node webhook-peer.ts podtender|by-hand FOLDER-OF-CERTIFICATE`
 */
import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type * as controllerModule from '../../src/controller/index.ts';
import type * as webhookModule from '../../src/controller/webhook/index.ts';
import { built } from './processes.ts';

const [peer = 'podtender', certDir = '.'] = process.argv.slice(2);

async function podtender(): Promise<number> {
  const { kinds } = (await import(built('controller/index.js'))) as typeof controllerModule;
  const { WebhookServer, defaulter, validator } = (await import(
    built('controller/webhook/index.js')
  )) as typeof webhookModule;
  const server = new WebhookServer({ port: 0, host: '127.0.0.1', certDir });
  server.register(
    '/validate',
    validator(kinds.ConfigMap, {
      create: ({ data }) => {
        if ((data?.['text'] ?? '') === '') throw new Error('data.text is required');
      },
    }),
  );
  server.register(
    '/mutate',
    defaulter(kinds.ConfigMap, ({ metadata = {} }) => {
      metadata.labels = { ...metadata.labels, defaulted: 'true' };
    }),
  );
  await server.listen();
  return server.address?.port ?? 0;
}

interface Review {
  readonly apiVersion: string;
  readonly request: {
    readonly uid: string;
    readonly object: {
      readonly metadata: { readonly labels?: object };
      readonly data?: { readonly text?: string };
    };
  };
}

/** The least that answers a review: no limits, no deadlines, no metrics, and a patch that is written by hand. */
async function byHand(): Promise<number> {
  const server = createServer(
    { cert: readFileSync(join(certDir, 'tls.crt')), key: readFileSync(join(certDir, 'tls.key')) },
    (request, response) => {
      let text = '';
      request.setEncoding('utf8').on('data', (part: string) => (text += part));
      request.on('end', () => {
        const { apiVersion, request: review } = JSON.parse(text) as Review;
        const { uid, object } = review;
        const allowed = (object.data?.text ?? '') !== '';
        const patches = object.metadata.labels
          ? [{ op: 'add', path: '/metadata/labels/defaulted', value: 'true' }]
          : [{ op: 'add', path: '/metadata/labels', value: { defaulted: 'true' } }];
        const change =
          request.url === '/mutate'
            ? { patchType: 'JSONPatch', patch: Buffer.from(JSON.stringify(patches)).toString('base64') }
            : {};
        response.setHeader('content-type', 'application/json');
        response.end(
          JSON.stringify({ apiVersion, kind: 'AdmissionReview', response: { uid, allowed, ...change } }),
        );
      });
    },
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

const port = await (peer === 'podtender' ? podtender() : byHand());
process.stdout.write(`${JSON.stringify({ port })}\n`);
createInterface({ input: process.stdin })
  .on('line', () => {
    const { user, system } = process.cpuUsage();
    const { rss } = process.memoryUsage();
    process.stdout.write(`${JSON.stringify({ cpuMs: (user + system) / 1000, rss })}\n`);
  })
  .on('close', () => {
    process.exit();
  });
