import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createApiClient } from '../api/rest/http-client.ts';
import type { ApiConnection } from '../api/rest/connection.ts';
import type { Resource } from '../api/resources.ts';
import type { Clock } from '../base/clock.ts';
import { AgentError } from '../base/errors.ts';
import { Authority, hour, year } from '../pki/certificates.ts';
import { createOrReplace } from './install.ts';
import { type Manifest, readManifests } from './manifests.ts';

/** Where the tests' own webhook server has to listen, and its certificate. */
export interface WebhookServing {
  readonly host: string;
  readonly port: number;
  /** Directory with `tls.crt` and `tls.key`. */
  readonly certDir: string;
  /** Authority of the certificate, PEM. */
  readonly ca: string;
}

/** Where webhooks are served, and what removes its files. */
export interface WebhookPlace extends WebhookServing {
  remove(): void;
}

interface ClientConfig {
  readonly service?: { readonly path?: string };
  readonly url?: string;
  readonly caBundle?: string;
}

/** Chooses a free port and writes a certificate for the tests' webhook server. */
export async function webhookPlace(clock: Clock, host = '127.0.0.1'): Promise<WebhookPlace> {
  const now = clock.now();
  const authority = Authority.create('podtender-envtest-webhooks', now);
  const pair = authority.issue({
    subject: { commonName: 'webhook-server' },
    notBefore: now - hour,
    notAfter: now + year,
    usages: ['server auth'],
    hosts: [...new Set([host, '127.0.0.1', 'localhost'])],
  });
  const certDir = mkdtempSync(join(tmpdir(), 'podtender-envtest-webhooks-'));
  writeFileSync(join(certDir, 'tls.crt'), pair.cert);
  writeFileSync(join(certDir, 'tls.key'), pair.key, { mode: 0o600 });
  return {
    host,
    port: await freePort(host),
    certDir,
    ca: authority.cert,
    remove: () => {
      rmSync(certDir, { recursive: true, force: true });
    },
  };
}

/** Returns a port that is free now. */
export async function freePort(host: string): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, host, resolve);
  });
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === 'string') throw new AgentError('internal', 'no port is free');
  return address.port;
}

const resourceOf = (resource: string, kind: string): Resource => ({
  ...{ group: 'admissionregistration.k8s.io', version: 'v1', namespaced: false },
  resource,
  kind,
});

const configurations = [
  resourceOf('mutatingwebhookconfigurations', 'MutatingWebhookConfiguration'),
  resourceOf('validatingwebhookconfigurations', 'ValidatingWebhookConfiguration'),
];

/** Returns a webhook's client configuration, with the tests' server in place of a service in the cluster. */
export function localConfig(config: ClientConfig, { host, port, ca }: WebhookServing): ClientConfig {
  if (!config.service) return config;
  const path = (config.service.path ?? '').replace(/^\/?/, '/');
  const name = host.includes(':') ? `[${host}]` : host;
  return { url: `https://${name}:${port}${path}`, caBundle: Buffer.from(ca).toString('base64') };
}

const locally = (object: Manifest, place: WebhookServing): Manifest => ({
  ...object,
  webhooks: ((object['webhooks'] ?? []) as readonly { readonly clientConfig?: ClientConfig }[]).map(
    (webhook) => ({
      ...webhook,
      clientConfig: localConfig(webhook.clientConfig ?? {}, place),
    }),
  ),
});

interface Conversion {
  readonly strategy?: string;
  readonly webhook?: { readonly clientConfig?: ClientConfig };
}

const conversionOf = ({ spec }: Manifest): Conversion | undefined =>
  (spec as { readonly conversion?: Conversion } | undefined)?.conversion;

/** True for a definition whose versions a Service converts. */
export const convertsByService = (definition: Manifest): boolean =>
  conversionOf(definition)?.webhook?.clientConfig?.service !== undefined;

/** Returns a definition whose versions are converted at the tests' server, if it names a Service for that. */
export function convertedLocally(definition: Manifest, place: WebhookServing): Manifest {
  if (!convertsByService(definition)) return definition;
  const { webhook = {}, ...conversion } = conversionOf(definition) ?? {};
  const clientConfig = localConfig(webhook.clientConfig ?? {}, place);
  return {
    ...definition,
    spec: {
      ...(definition['spec'] as object),
      conversion: { ...conversion, webhook: { ...webhook, clientConfig } },
    },
  };
}

/**
 * Creates or updates webhook configurations; webhooks that name a service are called at the tests' own server.
 *
 * @throws {AgentError} for what cannot be read, is no webhook configuration, or is rejected
 *
 * @example
 * const place = { host: '127.0.0.1', port: 9443, certDir, ca };
 * await installWebhooks(connection, ['config/webhook'], { place, clock });
 */
export async function installWebhooks(
  connection: ApiConnection,
  sources: readonly (string | object)[],
  { place, clock }: { readonly place: WebhookServing; readonly clock: Clock },
): Promise<void> {
  const read = await readManifests(sources, 'webhooks');
  const client = createApiClient(connection, { clock, qps: 0 });
  try {
    for (const { object, from } of read) {
      const resource = configurations.find(({ kind }) => kind === object.kind);
      // a folder holds other manifests too, such as the service
      if (resource) await createOrReplace(client, resource, { object: locally(object, place), from });
    }
  } finally {
    await client.close();
  }
}
