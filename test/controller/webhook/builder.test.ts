import { afterEach, describe, expect, test } from 'vitest';
import { freePort } from '../../../src/envtest/webhooks.ts';
import { defineKind, type KubeObject, kinds } from '../../../src/controller/index.ts';
import {
  mutatePath,
  newWebhookManagedBy,
  spoke,
  validatePath,
} from '../../../src/controller/webhook/index.ts';
import { failure } from '../support.ts';
import { endAll, managerOf, server } from '../manager/bench-manager.ts';

afterEach(endAll);

interface Tab extends KubeObject {
  spec?: { schedule?: string[]; replicas?: number };
}
interface OldTab extends KubeObject {
  spec?: { cron?: string; replicas?: number };
}
const Tab = defineKind<Tab>({ group: 'stable.example.com', version: 'v2', kind: 'CronTab' });
const OldTab = defineKind<OldTab>({ group: 'stable.example.com', version: 'v1', kind: 'CronTab' });

const reached = (port: number, path: string) => ({ url: `https://127.0.0.1:${port}${path}` });
const webhook = (name: string, port: number, path: string) => ({
  metadata: { name },
  webhooks: [
    {
      ...{ name: `${name}.example.com`, admissionReviewVersions: ['v1'], sideEffects: 'None' },
      failurePolicy: 'Fail',
      clientConfig: reached(port, path),
      rules: [
        {
          ...{ apiGroups: [Tab.group], apiVersions: ['v2'], resources: ['crontabs'] },
          operations: ['CREATE', 'UPDATE', 'DELETE'],
        },
      ],
    },
  ],
});
const schema = {
  openAPIV3Schema: {
    type: 'object',
    properties: { spec: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
  },
};
const definition = (port: number) => ({
  metadata: { name: 'crontabs.stable.example.com' },
  spec: {
    ...{ group: Tab.group, scope: 'Namespaced', names: { kind: 'CronTab', plural: 'crontabs' } },
    versions: [
      { name: 'v2', served: true, storage: true, schema },
      { name: 'v1', served: true, storage: false, schema },
    ],
    conversion: {
      strategy: 'Webhook',
      webhook: { conversionReviewVersions: ['v1'], clientConfig: reached(port, '/convert') },
    },
  },
});

describe('webhooks of a manager', () => {
  test('1 defaulter, validator and conversion work end to end with a provisioned certificate', async () => {
    const api = await server();
    const port = await freePort('127.0.0.1');
    const { manager, start } = managerOf(api, {
      webhook: {
        ...{ port, host: '127.0.0.1' },
        provision: {
          hosts: ['127.0.0.1'],
          secret: { namespace: 'default', name: 'webhook-certificate' },
          ...{ validatingWebhooks: ['v'], mutatingWebhooks: ['m'], crds: ['crontabs.stable.example.com'] },
        },
      },
    });
    const { client, apiReader } = manager;
    await client.create(kinds.CustomResourceDefinition, definition(port));
    await client.create(kinds.MutatingWebhookConfiguration, webhook('m', port, mutatePath(Tab)));
    await client.create(kinds.ValidatingWebhookConfiguration, webhook('v', port, validatePath(Tab)));
    newWebhookManagedBy(manager, Tab)
      .withDefaulter(({ spec }) => {
        if (spec) spec.replicas ??= 1;
      })
      .withValidator({
        create: ({ spec }) => {
          if ((spec?.replicas ?? 0) > 5) throw new Error('spec.replicas: at most 5');
          return spec?.replicas === 5 ? ['5 is a lot'] : [];
        },
        update: (before, after) => {
          if ((after.spec?.replicas ?? 0) < (before.spec?.replicas ?? 0))
            throw new Error('spec.replicas: may only grow');
        },
        delete: ({ metadata }) => {
          if (metadata?.labels?.['keep']) throw new Error('it is to be kept');
        },
      })
      .withConverter({
        hub: Tab,
        spokes: [
          spoke<Tab, OldTab>(OldTab, {
            convertTo: (old) => ({
              ...old,
              spec: { schedule: [old.spec?.cron ?? ''], replicas: old.spec?.replicas ?? 1 },
            }),
            convertFrom: (hub) => ({
              ...hub,
              spec: { cron: hub.spec?.schedule?.[0] ?? '', replicas: hub.spec?.replicas ?? 1 },
            }),
          }),
        ],
      })
      .complete();
    void start();
    await manager.elected;
    await manager.webhookServer.startedChecker()();

    const made = await client.create(Tab, {
      metadata: { namespace: 'default', name: 'a' },
      spec: { schedule: ['* *'] },
    });
    expect(made.spec).toEqual({ schedule: ['* *'], replicas: 1 });
    expect((await apiReader.get(OldTab, { namespace: 'default', name: 'a' })).spec).toEqual({
      cron: '* *',
      replicas: 1,
    });
    const refused = await failure(
      client.create(Tab, { metadata: { namespace: 'default', name: 'b' }, spec: { replicas: 6 } }),
    );
    expect([refused.status, refused.message]).toEqual([
      403,
      'admission webhook "v.example.com" denied the request: spec.replicas: at most 5',
    ]);
    const grown = await client.update(Tab, {
      ...made,
      metadata: { ...made.metadata, labels: { keep: 'y' } },
      spec: { replicas: 3 },
    });
    expect((await failure(client.update(Tab, { ...grown, spec: { replicas: 2 } }))).message).toContain(
      'may only grow',
    );
    expect((await failure(client.delete(Tab, made))).message).toContain('it is to be kept');
    const old = { metadata: { namespace: 'default', name: 'c' }, spec: { cron: '1 1', replicas: 2 } };
    await client.create(OldTab, old);
    expect((await apiReader.get(Tab, { namespace: 'default', name: 'c' })).spec).toEqual({
      schedule: ['1 1'],
      replicas: 2,
    });
  });

  test('2 paths are those of controller-runtime; custom ones replace them', async () => {
    expect([mutatePath(Tab), validatePath(kinds.Pod)]).toEqual([
      '/mutate-stable-example-com-v2-crontab',
      '/validate--v1-pod',
    ]);
    const { manager } = managerOf(await server());
    newWebhookManagedBy(manager, Tab).withValidator({}).withValidatorCustomPath('/mine').complete();
    expect(() => {
      manager.webhookServer.register('/mine', () => undefined);
    }).toThrow('duplicate path: /mine');
    expect(() => {
      newWebhookManagedBy(manager, Tab).complete();
    }).toThrow('webhooks of CronTab: call withDefaulter(), withValidator() or withConverter()');
    const family = { hub: Tab, spokes: [] };
    newWebhookManagedBy(manager, Tab).withConverter(family).complete();
    const Other = defineKind({ ...Tab, kind: 'Other' });
    newWebhookManagedBy(manager, Other).withConverter({ hub: Other, spokes: [] }).complete();
  });
});
