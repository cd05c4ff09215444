import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { FakeClock } from '../../../src/base/fake-clock.ts';
import { type Client, kinds } from '../../../src/controller/index.ts';
import { fakeClient } from '../../../src/controller/fake/index.ts';
import {
  CertificateProvisioner,
  type CertificateProvisionerOptions,
} from '../../../src/controller/webhook/index.ts';
import { eventually } from '../manager/bench-manager.ts';
import { endServers, folder } from './support.ts';

afterEach(endServers);
const day = 24 * 3_600_000;
const secret = { namespace: 'system', name: 'webhook-certificate' };

const configuration = (name: string) => ({
  metadata: { name },
  webhooks: ['a', 'b'].map((one) => ({
    name: `${one}.example.com`,
    admissionReviewVersions: ['v1'],
    sideEffects: 'None',
    clientConfig: { service: { namespace: 'system', name: 'webhooks' } },
  })),
});

function provisioner(client: Client, clock: FakeClock, more: Partial<CertificateProvisionerOptions> = {}) {
  return new CertificateProvisioner(
    { service: { namespace: 'system', name: 'webhooks' }, secret, ...more },
    { client, clock },
  );
}
const fakeClock = () => new FakeClock(Date.parse('2026-01-01T00:00:00Z'));
const bundles = async (client: Client, name: string) =>
  (await client.get(kinds.ValidatingWebhookConfiguration, { name })).webhooks?.map(
    ({ clientConfig }) => clientConfig.caBundle,
  );
const base64 = (text = '') => Buffer.from(text).toString('base64');

describe('CertificateProvisioner', () => {
  test('1 certificate and authority are kept in a Secret, and the authority is injected everywhere', async () => {
    const client = fakeClient();
    await client.create(kinds.ValidatingWebhookConfiguration, configuration('v'));
    await client.create(kinds.MutatingWebhookConfiguration, configuration('m'));
    await client.create(kinds.CustomResourceDefinition, {
      metadata: { name: 'c.example.com' },
      spec: {
        ...{ group: 'example.com', scope: 'Namespaced', names: { kind: 'C', plural: 'c' }, versions: [] },
        conversion: {
          strategy: 'Webhook',
          webhook: {
            conversionReviewVersions: ['v1'],
            clientConfig: { service: { namespace: 'system', name: 'webhooks' } },
          },
        },
      },
    });
    const targets = { validatingWebhooks: ['v'], mutatingWebhooks: ['m'], crds: ['c.example.com'] };
    const bundle = await provisioner(client, fakeClock(), targets).ensure();
    const stored = await client.get(kinds.Secret, secret);
    expect(stored).toMatchObject({
      type: 'kubernetes.io/tls',
      data: {
        'tls.crt': base64(bundle.cert),
        'tls.key': base64(bundle.key),
        'ca.crt': base64(bundle.ca),
        'ca.key': base64(bundle.caKey),
      },
    });
    const ca = base64(bundle.ca);
    expect(await bundles(client, 'v')).toEqual([ca, ca]);
    const mutating = await client.get(kinds.MutatingWebhookConfiguration, { name: 'm' });
    expect(mutating.webhooks?.map(({ clientConfig }) => clientConfig.caBundle)).toEqual([ca, ca]);
    const { spec } = await client.get(kinds.CustomResourceDefinition, { name: 'c.example.com' });
    expect(spec.conversion?.webhook?.clientConfig?.caBundle).toBe(ca);
  });

  test('2 replicas share one certificate, whoever comes first', async () => {
    const client = fakeClient();
    const clock = fakeClock();
    const all = await Promise.all(Array.from({ length: 4 }, () => provisioner(client, clock).ensure()));
    expect(new Set(all.map(({ cert }) => cert)).size).toBe(1);
  });

  test('3 it is renewed before it expires, and the callbacks get it after the authority is injected', async () => {
    const client = fakeClient();
    const clock = fakeClock();
    await client.create(kinds.ValidatingWebhookConfiguration, configuration('v'));
    const one = provisioner(client, clock, {
      ...{ validatingWebhooks: ['v'], validity: 30 * day, caValidity: 60 * day, checkInterval: 10 * day },
    });
    const first = await one.ensure();
    const seen: { readonly ca: string; readonly injected: Promise<unknown> }[] = [];
    one.onChange(({ ca }) => void seen.push({ ca, injected: bundles(client, 'v') }));
    const stop = new AbortController();
    const ended = one.start(stop.signal);
    await clock.advance(21 * day);
    await eventually(() => seen.length === 1);
    await clock.advance(21 * day);
    await eventually(() => seen.length === 2);
    for (const { ca, injected } of seen) expect(await injected).toEqual([base64(ca), base64(ca)]);
    expect(one.bundle?.cert).not.toBe(first.cert);
    expect(seen[1]?.ca).toContain(first.ca);
    stop.abort();
    await ended;
  });

  test('4 a target that comes later is injected within seconds; one that is overwritten is mended', async () => {
    const client = fakeClient();
    const clock = fakeClock();
    const one = provisioner(client, clock, { validatingWebhooks: ['v'] });
    const { ca } = await one.ensure();
    const stop = new AbortController();
    const ended = one.start(stop.signal);
    await client.create(kinds.ValidatingWebhookConfiguration, configuration('v'));
    await clock.advance(5_000);
    await eventually(
      () => bundles(client, 'v'),
      (found) => found?.[0] === base64(ca),
    );
    const found = await client.get(kinds.ValidatingWebhookConfiguration, { name: 'v' });
    await client.update(kinds.ValidatingWebhookConfiguration, {
      ...found,
      ...configuration('v'),
      metadata: found.metadata ?? {},
    });
    expect(await bundles(client, 'v')).toEqual([undefined, undefined]);
    await clock.advance(60_000);
    await eventually(
      () => bundles(client, 'v'),
      (all) => all?.[0] === base64(ca),
    );
    stop.abort();
    await ended;
  });

  test('5 in a folder the keys are for the owner only, and a second process takes what is there', async () => {
    const directory = join(folder({}), 'certs');
    const options = { directory, hosts: ['localhost'] };
    const deps = { client: fakeClient(), clock: fakeClock() };
    const bundle = await new CertificateProvisioner(options, deps).ensure();
    expect(readFileSync(join(directory, 'tls.crt'), 'utf8')).toBe(bundle.cert);
    for (const name of ['tls.key', 'ca.key'])
      expect(statSync(join(directory, name)).mode & 0o777).toBe(0o600);
    expect(await new CertificateProvisioner(options, deps).ensure()).toEqual(bundle);
  });

  test('6 contradictory options are rejected', () => {
    const make = (options: CertificateProvisionerOptions) => () =>
      new CertificateProvisioner(options, { client: fakeClient() });
    expect(make({ hosts: ['a'] })).toThrow('exactly one of secret and directory is required');
    expect(make({ hosts: ['a'], secret, directory: 'x' })).toThrow('exactly one of secret and directory');
    expect(make({ secret })).toThrow('hosts or service is required');
    expect(make({ secret, hosts: ['a'], validity: day, renewBefore: day })).toThrow('must be below validity');
  });
});
