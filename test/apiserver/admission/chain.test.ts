import { expect, test } from 'vitest';
import { AdmissionChain, checkPluginNames, pluginNames } from '../../../src/apiserver/admission/chain.ts';
import type { Admissible, AdmissionPlugin } from '../../../src/apiserver/admission/plugin.ts';
import { EmbeddedApiServer } from '../../../src/apiserver/index.ts';
import { systemContext } from '../../../src/apiserver/controllers/controllers.ts';
import { builtIn } from '../../../src/apimachinery/kinds.ts';
import type { World } from '../../../src/apiserver/request/write-context.ts';
import { FakeClock } from '../../../src/base/fake-clock.ts';
import { call, pod, podsPath } from '../support.ts';

const world = { clock: new FakeClock(0) } as unknown as World;
const admissible = (more: Partial<Admissible> = {}): Admissible => ({
  operation: 'CREATE',
  kind: builtIn('configmaps'),
  subresource: '',
  namespace: 'default',
  name: 'a',
  options: {},
  context: systemContext(world),
  ...more,
});
const anything = (): boolean => true;

/** A plug-in that adds its name to the list in `data.seen`. */
const adding = (name: string, later = false): AdmissionPlugin => ({
  name,
  handles: anything,
  admit: ({ object }) => {
    const changed = { ...object, seen: [...((object?.['seen'] ?? []) as string[]), name] };
    return later ? Promise.resolve(changed) : changed;
  },
});

test('each plug-in changes what the one before left', () => {
  const chain = new AdmissionChain([adding('one'), adding('two'), adding('three')]);
  expect(chain.begin(admissible()).mutate({})).toEqual({ seen: ['one', 'two', 'three'] });
});

test('nothing is put off as long as no plug-in is asynchronous, and the order stays where one is', async () => {
  const chain = new AdmissionChain([adding('one'), adding('two', true), adding('three')]);
  const changed = chain.begin(admissible()).mutate({});
  expect(changed).toBeInstanceOf(Promise);
  expect(await changed).toEqual({ seen: ['one', 'two', 'three'] });
});

test('a plug-in is asked once whether it handles a combination', () => {
  const asked: string[] = [];
  const plugin: AdmissionPlugin = {
    name: 'asked',
    handles: (operation, kind, subresource) => {
      asked.push(`${operation} ${kind.resource}/${subresource}`);
      return false;
    },
    admit: () => ({ wrong: true }),
  };
  const chain = new AdmissionChain([plugin]);
  for (let i = 0; i < 3; i++) expect(chain.begin(admissible()).mutate({})).toEqual({});
  expect(chain.begin(admissible({ operation: 'DELETE' })).mutate(undefined)).toBeUndefined();
  expect(asked).toEqual(['CREATE configmaps/', 'DELETE configmaps/']);
});

test('all run a second time, and no more, where one asks for it', () => {
  const runs: boolean[] = [];
  const again: AdmissionPlugin = {
    name: 'again',
    handles: anything,
    admit: ({ reinvocation }) => {
      runs.push(reinvocation.again);
      reinvocation.request();
      return undefined;
    },
  };
  const chain = new AdmissionChain([adding('one'), again]);
  expect(chain.begin(admissible()).mutate({})).toEqual({ seen: ['one', 'one'] });
  expect(runs).toEqual([false, true]);
});

test('what belongs to the write waits for it, and a refusal ends the chain', () => {
  const done: string[] = [];
  const charging: AdmissionPlugin = {
    name: 'charging',
    handles: anything,
    validate: ({ onCommit }) => {
      onCommit(() => done.push('charged'));
    },
  };
  const refusing: AdmissionPlugin = {
    name: 'refusing',
    handles: anything,
    validate: ({ object }) => {
      if (object?.['bad'] === true) throw new Error('refused');
    },
  };
  const chain = new AdmissionChain([refusing, charging]);
  expect(() => chain.begin(admissible()).validate({ bad: true })).toThrow('refused');
  const good = chain.begin(admissible());
  expect(good.validate({})).toBeUndefined();
  expect(done).toEqual([]);
  good.commit();
  expect(done).toEqual(['charged']);
});

test('a plug-in that waits may refuse by rejecting', async () => {
  const chain = new AdmissionChain([
    { name: 'slow', handles: anything, validate: () => Promise.reject(new Error('no')) },
  ]);
  await expect(chain.begin(admissible()).validate({})).rejects.toThrow('no');
});

test('plug-ins are in the order of kube-apiserver, quotas last', () => {
  const names = pluginNames();
  expect(names).toEqual([
    'NamespaceLifecycle',
    'LimitRanger',
    'ServiceAccount',
    'NodeRestriction',
    'TaintNodesByCondition',
    'PodSecurity',
    'Priority',
    'DefaultTolerationSeconds',
    'DefaultStorageClass',
    'StorageObjectInUseProtection',
    'RuntimeClass',
    'CertificateSubjectRestriction',
    'DefaultIngressClass',
    'PodResizeValidator',
    'MutatingAdmissionPolicy',
    'MutatingAdmissionWebhook',
    'ValidatingAdmissionPolicy',
    'ValidatingAdmissionWebhook',
    'ResourceQuota',
  ]);
});

test('an unknown name is refused, with those that there are', () => {
  expect(() => {
    checkPluginNames(['LimitRanger', 'C']);
  }).toThrow(
    'disableAdmissionPlugins: "C": no such plug-in: there are NamespaceLifecycle, LimitRanger, ServiceAccount',
  );
});

test.for([
  ['ServiceAccount', podsPath, pod('a'), ['spec', 'serviceAccountName']],
  ['DefaultTolerationSeconds', podsPath, pod('a'), ['spec', 'tolerations']],
  ['Priority', podsPath, pod('a'), ['spec', 'priority']],
  ['TaintNodesByCondition', '/api/v1/nodes', { metadata: { name: 'n' } }, ['spec', 'taints']],
] as const)('%s can be switched off', async ([name, path, body, [part, field]]) => {
  for (const disableAdmissionPlugins of [[], [name]]) {
    const server = await EmbeddedApiServer.start({ disableAdmissionPlugins, minimalScheduler: false });
    try {
      const answer = await call(server, 'POST', path, body);
      expect(answer.status).toBe(201);
      const found = (answer.body as Record<string, Record<string, unknown>>)[part]?.[field];
      expect(found !== undefined).toBe(disableAdmissionPlugins.length === 0);
    } finally {
      await server.stop();
    }
  }
});

test('without NamespaceLifecycle objects go to namespaces that are not there', async () => {
  const server = await EmbeddedApiServer.start({ disableAdmissionPlugins: ['NamespaceLifecycle'] });
  const answer = await call(server, 'POST', '/api/v1/namespaces/nowhere/configmaps', {
    metadata: { name: 'a' },
  });
  await server.stop();
  expect(answer.status).toBe(201);
});
