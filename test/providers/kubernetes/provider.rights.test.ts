import { readFileSync } from 'node:fs';
import { PassThrough } from 'node:stream';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { configMapResource, eventResource, podResource, type Resource } from '../../../src/api/resources.ts';
import type { ApiConnection } from '../../../src/api/rest/connection.ts';
import { nameOf, uidOf } from '../../../src/kube/names.ts';
import type { ConfigMap, Event, KubeObject, Pod } from '../../../src/kube/types.ts';
import type { KubernetesProvider } from '../../../src/providers/kubernetes/index.ts';
import { systemClock as clock } from '../../../src/base/clock.ts';
import { AnsweringProvider } from '../../support/answering-provider.ts';
import { backingNamespace, type TwoClusters, twoClusters } from '../../support/two-clusters.ts';

interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
}

const manifest = parseAllDocuments(
  readFileSync(new URL('../../../examples/second-cluster/backing-rbac.yaml', import.meta.url), 'utf8'),
).map((document) => document.toJS() as KubeObject & { readonly rules?: readonly Rule[] });

/** `VERB GROUP/RESOURCE` of all that the manifest grants. */
const granted = manifest
  .flatMap(({ rules = [] }) => rules)
  .flatMap(({ apiGroups, resources, verbs }) =>
    apiGroups.flatMap((group) =>
      resources.flatMap((resource) => verbs.map((verb) => `${verb} ${group}/${resource}`)),
    ),
  );

const rbac = (resource: string, kind: string): Resource => ({
  ...{ group: 'rbac.authorization.k8s.io', version: 'v1', resource, kind, namespaced: true },
});
const resourceOf: Readonly<Record<string, Resource>> = {
  Role: rbac('roles', 'Role'),
  RoleBinding: rbac('rolebindings', 'RoleBinding'),
  ServiceAccount: {
    ...{ group: '', version: 'v1', resource: 'serviceaccounts', kind: 'ServiceAccount', namespaced: true },
  },
};
const account = `system:serviceaccount:${backingNamespace}:podtender`;

let bed: TwoClusters;
let provider: KubernetesProvider;
const signal = new AbortController().signal;

beforeAll(async () => {
  bed = await twoClusters({
    backingProvider: new AnsweringProvider({ clock }),
    backing: { metricsApi: true },
  });
  const { client } = bed.there;
  for (const object of manifest) {
    const resource = resourceOf[object.kind ?? ''];
    if (resource) await client.create(resource, object);
  }
  provider = await bed.startAgent({ connection: await connection(), leaderElection: true });
  await provider.open();
}, 60_000);
afterAll(async () => {
  await bed.stop();
});

const eventually = <T>(check: () => Promise<T>): Promise<T> =>
  vi.waitFor(check, { timeout: 20_000, interval: 50 });

const ready = (name: string): Promise<Pod> =>
  eventually(async () => {
    const found = await bed.pod(name);
    expect(found.status?.containerStatuses?.[0]).toMatchObject({ ready: true });
    return found;
  });

/** A connection with a token of the manifest's service account. */
async function connection(): Promise<ApiConnection> {
  const { client, server } = bed.there;
  const path = `/api/v1/namespaces/${backingNamespace}/serviceaccounts/podtender/token`;
  const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { audiences: [] } };
  const { status } = (await client.raw(path, { method: 'POST', body })) as {
    readonly status: { readonly token: string };
  };
  return { server: server.url, ca: server.ca, token: status.token };
}

/** Leaves the account only what `allows` says of the manifest's rights. */
async function setRights(allows: (resource: string, verb: string) => boolean): Promise<void> {
  const ref = { namespace: backingNamespace, name: 'podtender' };
  const rules = manifest
    .flatMap((object) => object.rules ?? [])
    .flatMap((rule) => rule.resources.map((resource) => ({ ...rule, resources: [resource] })))
    .map((rule) => ({ ...rule, verbs: rule.verbs.filter((verb) => allows(rule.resources[0] ?? '', verb)) }))
    .filter(({ verbs }) => verbs.length > 0);
  await bed.there.client.patch(rbac('roles', 'Role'), ref, { type: 'merge', body: { rules } });
}

/** What the service account has done in the backing cluster, and what it was refused. */
function done(): { readonly used: ReadonlySet<string>; readonly refused: readonly string[] } {
  const own = bed.there.server.audit.filter(({ user }) => user.username === account);
  const text = ({
    verb,
    objectRef: { apiGroup = '', resource = '', subresource } = {},
  }: (typeof own)[number]) =>
    `${verb} ${apiGroup}/${resource}${subresource === undefined ? '' : `/${subresource}`}`;
  return {
    used: new Set(own.filter(({ objectRef }) => objectRef?.resource !== undefined).map(text)),
    refused: own.filter(({ responseStatus }) => responseStatus?.code === 403).map(text),
  };
}

async function streams(pod: Pod): Promise<void> {
  const id = pod.status?.containerStatuses?.[0]?.containerID ?? '';
  const ref = { podUid: uidOf(pod), namespace: 'default', pod: nameOf(pod), container: 'main', id };
  await provider.execSync(ref, ['true'], 10_000);
  await provider.attach(ref, { stdout: new PassThrough(), tty: false }, signal);
  await provider.readLogs(ref, {}, () => undefined, signal);
  const status = await provider.getPodStatus({ uid: uidOf(pod), name: nameOf(pod), namespace: 'default' });
  const port = new PassThrough();
  port.end('hello');
  await provider.portForward(status, 8080, port, signal);
  await provider.listUsage(signal);
}

test('the rights of the manifest are enough for all that the agent does, and none is superfluous', async () => {
  const site = { metadata: { name: 'site', namespace: 'default' }, data: { text: 'one' } };
  await bed.here.client.create<ConfigMap>(configMapResource, site);
  await bed.here.client.create({ ...configMapResource, resource: 'secrets', kind: 'Secret' }, {
    metadata: { name: 'key', namespace: 'default' },
    stringData: { word: 'one' },
  } as KubeObject);
  const ref = { namespace: 'default', name: 'entitled' };
  await bed.create('entitled', {
    volumes: [
      { name: 'site', configMap: { name: 'site' } },
      { name: 'key', secret: { secretName: 'key' } },
    ],
  });
  const pod = await ready('entitled');
  await streams(pod);
  await bed.here.client.update<ConfigMap>(configMapResource, { ...site, data: { text: 'two' } });
  await bed.here.client.patch(
    { ...configMapResource, resource: 'secrets', kind: 'Secret' },
    { namespace: 'default', name: 'key' },
    { type: 'merge', body: { stringData: { word: 'two' } } },
  );
  const debug = { name: 'debug', image: 'busybox' };
  await bed.here.client.patch(
    podResource,
    ref,
    { type: 'strategic', body: { spec: { ephemeralContainers: [debug] } } },
    { subresource: 'ephemeralcontainers' },
  );
  let serial = 0;
  await eventually(async () => {
    const body = { metadata: { labels: { serial: String(serial++) } } };
    await bed.here.client.patch(podResource, ref, { type: 'merge', body }); // the next sync
    expect([...done().used]).toEqual(expect.arrayContaining(['update /configmaps', 'update /secrets']));
  });
  await bed.here.client.delete(podResource, ref);
  await eventually(async () => {
    await expect(bed.pod('entitled')).rejects.toMatchObject({ code: 'not_found' });
  });
  await bed.stopAgent(); // gives the lease up
  const { used, refused } = done();
  expect(refused).toEqual([]);
  const unused = granted.filter(
    (right) => !used.has(right) && !/pods\/(exec|attach|portforward)$/.test(right),
  );
  // lists are for API servers that do not stream them in a watch
  expect(unused.sort()).toEqual(['list /events', 'list /pods']);
}, 60_000);

test('without a right the refusal is named, and nothing else fails', async () => {
  await setRights(
    (resource, verb) => !(resource === 'pods' && verb === 'create') && resource !== 'pods/exec',
  );
  provider = await bed.startAgent({ connection: await connection() });
  await bed.create('refused');
  await eventually(async () => {
    const events = await bed.here.list<Event>(eventResource, 'default');
    const messages = events.filter(({ involvedObject }) => involvedObject.name === 'refused');
    expect(messages.map(({ message }) => message).join()).toMatch(/cannot create resource "pods"/);
  });
  await setRights((resource) => resource !== 'pods/exec');
  const pod = await ready('refused');
  await expect(streams(pod)).rejects.toThrow(/cannot get resource "pods\/exec"/);
}, 60_000);
