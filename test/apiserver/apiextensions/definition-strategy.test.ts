import { afterAll, beforeAll, expect, test } from 'vitest';
import { EmbeddedApiServer } from '../../../src/apiserver/index.ts';
import { type Answer, call } from '../support.ts';
import { definition, definitionsPath, schema } from './support.ts';

let server: EmbeddedApiServer;
beforeAll(async () => {
  server = await EmbeddedApiServer.start({ controllers: false });
});
afterAll(() => server.stop());

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
}
interface Status {
  readonly acceptedNames: object;
  readonly conditions: readonly Condition[];
  readonly storedVersions: readonly string[];
}

const post = (body: object): Promise<Answer> => call(server, 'POST', definitionsPath, body);
const get = (name: string): Promise<Answer> => call(server, 'GET', `${definitionsPath}/${name}`);
const statusOf = (answer: Answer): Status => (answer.body as unknown as { status: Status }).status;
const conditionsOf = (answer: Answer): readonly string[] =>
  statusOf(answer).conditions.map(({ type, status, reason }) => `${type}=${status} ${reason}`);
const messageOf = (answer: Answer): string => String((answer.body as { message?: unknown }).message);

test('a definition has its names accepted and is established at once', async () => {
  const made = await post(definition('widgets', { names: { shortNames: ['wd'], categories: ['all'] } }));
  expect(made.status).toBe(201);
  expect((made.body as unknown as { spec: { names: object } }).spec.names).toEqual({
    plural: 'widgets',
    singular: 'widget',
    kind: 'Widget',
    listKind: 'WidgetList',
    shortNames: ['wd'],
    categories: ['all'],
  });
  expect((made.body as unknown as { spec: { conversion: object } }).spec.conversion).toEqual({
    strategy: 'None',
  });
  const found = await get('widgets.example.com');
  expect(conditionsOf(found)).toEqual([
    'NamesAccepted=True NoConflicts',
    'Established=True InitialNamesAccepted',
  ]);
  expect(statusOf(found)).toMatchObject({
    storedVersions: ['v1'],
    acceptedNames: {
      plural: 'widgets',
      singular: 'widget',
      kind: 'Widget',
      listKind: 'WidgetList',
      shortNames: ['wd'],
      categories: ['all'],
    },
  });
});

test('names that are in use are refused by condition until they come free', async () => {
  await post(definition('gears', { kind: 'Gear', names: { shortNames: ['gr'] } }));
  const second = await post(definition('geargroups', { kind: 'Gear', names: { shortNames: ['gr'] } }));
  expect(second.status).toBe(201);
  const refused = await get('geargroups.example.com');
  expect(conditionsOf(refused)).toEqual([
    'NamesAccepted=False ListKindConflict',
    'Established=False NotAccepted',
  ]);
  expect(statusOf(refused).conditions[0]?.message).toBe('"GearList" is already in use');
  expect((await call(server, 'DELETE', `${definitionsPath}/gears.example.com`)).status).toBe(200);
  await expect
    .poll(async () => conditionsOf(await get('geargroups.example.com')))
    .toEqual(['NamesAccepted=True NoConflicts', 'Established=True InitialNamesAccepted']);
});

test('names of another group are no conflict', async () => {
  await post(definition('cogs', { kind: 'Cog' }));
  await post(definition('cogs', { kind: 'Cog', group: 'other.example.com' }));
  expect(conditionsOf(await get('cogs.other.example.com'))).toContain('NamesAccepted=True NoConflicts');
});

test('a deleted definition goes', async () => {
  await post(definition('bolts', { kind: 'Bolt' }));
  const gone = await call(server, 'DELETE', `${definitionsPath}/bolts.example.com`);
  expect(gone.body.metadata).toMatchObject({
    finalizers: ['customresourcecleanup.apiextensions.k8s.io'],
    generation: 1,
  });
  await expect.poll(async () => (await get('bolts.example.com')).status).toBe(404);
});

test('a change of the storage version is noted; names and scope stand', async () => {
  const made = await post(definition('nuts', { kind: 'Nut' }));
  const nut = made.body as unknown as { spec: { versions: object[]; scope: string } };
  const [v1] = nut.spec.versions;
  const versions = [
    { ...v1, storage: false },
    { ...v1, name: 'v2' },
  ];
  const path = `${definitionsPath}/nuts.example.com`;
  const changed = await call(server, 'PUT', path, { ...nut, spec: { ...nut.spec, versions } });
  expect(changed.status).toBe(200);
  expect(statusOf(changed).storedVersions).toEqual(['v1', 'v2']);
  expect(changed.body.metadata).toMatchObject({ generation: 2 });
  const patch = (spec: object): Promise<Answer> =>
    call(server, 'PATCH', path, { spec }, 'application/merge-patch+json');
  expect(messageOf(await patch({ scope: 'Cluster' }))).toContain(
    'spec.scope: Invalid value: "Cluster": field is immutable',
  );
  expect(messageOf(await patch({ versions: [{ ...v1, name: 'v2' }] }))).toContain(
    'status.storedVersions[0]: Invalid value: "v1": missing from spec.versions; v1 was previously a storage version',
  );
});

test('rules are enforced, and those that do not compile are refused', async () => {
  const ruled = (rule: string): object =>
    definition('ruled', {
      kind: 'Ruled',
      version: schema({
        type: 'object',
        properties: { size: { type: 'integer', 'x-kubernetes-validations': [{ rule }] } },
      }),
    });
  expect(messageOf(await post(ruled('self.nope')))).toContain('does not support field selection');
  expect((await post(ruled('self < 5'))).status).toBe(201);
  const path = '/apis/example.com/v1/namespaces/default/ruled';
  const make = (size: number): Promise<Answer> =>
    call(server, 'POST', path, {
      apiVersion: 'example.com/v1',
      kind: 'Ruled',
      metadata: { name: 'a' },
      size,
    });
  expect(messageOf(await make(7))).toBe(
    'Ruled.example.com "a" is invalid: size: Invalid value: 7: failed rule: self < 5',
  );
  expect((await make(3)).status).toBe(201);
});

const validation = 'spec.validation.openAPIV3Schema';
test.for([
  [
    'a name that is not that of its resource',
    { ...definition('as'), metadata: { name: 'b' } },
    'metadata.name: Invalid value: "b": must be spec.names.plural+"."+spec.group',
  ],
  [
    'a group without a dot',
    definition('as', { group: 'example' }),
    'spec.group: Invalid value: "example": should be a domain with at least one dot',
  ],
  [
    'a scope that is not there',
    definition('as', { spec: { scope: 'Global' } }),
    'spec.scope: Unsupported value: "Global": supported values: "Cluster", "Namespaced"',
  ],
  [
    'no storage version',
    definition('as', { version: { storage: false } }),
    'must have exactly one version marked as storage version',
  ],
  [
    'no schema',
    definition('as', { version: { schema: undefined } }),
    'spec.versions[0].schema.openAPIV3Schema: Required value',
  ],
  [
    'a version that is no label',
    definition('as', { version: { name: 'V1' } }),
    'spec.versions[0].name: Invalid value: "V1": a DNS-1035 label must consist of',
  ],
  [
    'a list kind that is the kind',
    definition('as', { names: { listKind: 'Widget' } }),
    'spec.names.listKind: Invalid value: "Widget": kind and listKind may not be the same',
  ],
  [
    'a root without a type',
    definition('as', { version: schema({ properties: {} }) }),
    `${validation}.type: Required value: must not be empty at the root`,
  ],
  [
    'a field without a type',
    definition('as', { version: schema({ type: 'object', properties: { spec: {} } }) }),
    `${validation}.properties[spec].type: Required value: must not be empty for specified object fields`,
  ],
  [
    'a type that is none',
    definition('as', { version: schema({ type: 'object', properties: { a: { type: 'text' } } }) }),
    `${validation}.properties[a].type: Unsupported value: "text": supported values: "array", "boolean", "integer", "number", "object", "string"`,
  ],
  [
    'a list without items',
    definition('as', { version: schema({ type: 'object', properties: { a: { type: 'array' } } }) }),
    `${validation}.properties[a].items: Required value: must be specified`,
  ],
  [
    'types inside of junctors',
    definition('as', {
      version: schema({ type: 'object', properties: { a: { type: 'string', anyOf: [{ type: 'string' }] } } }),
    }),
    `${validation}.properties[a].anyOf[0].type: Forbidden: must be empty to be structural`,
  ],
  [
    'what stands in junctors alone',
    definition('as', {
      version: schema({ type: 'object', oneOf: [{ required: ['a'], properties: { a: { minLength: 1 } } }] }),
    }),
    `${validation}.properties[a]: Required value: because it is defined in ${validation}.oneOf[0].properties[a]`,
  ],
  [
    'a map list without keys',
    definition('as', {
      version: schema({
        type: 'object',
        properties: { a: { type: 'array', 'x-kubernetes-list-type': 'map', items: { type: 'object' } } },
      }),
    }),
    `${validation}.properties[a].x-kubernetes-list-map-keys: Required value: must not be empty if x-kubernetes-list-type is map`,
  ],
  [
    'properties beside additional ones',
    definition('as', {
      version: schema({
        type: 'object',
        properties: {
          a: {
            type: 'object',
            properties: { b: { type: 'string' } },
            additionalProperties: { type: 'string' },
          },
        },
      }),
    }),
    `${validation}.properties[a].additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive`,
  ],
  [
    'unique items',
    definition('as', {
      version: schema({
        type: 'object',
        properties: { a: { type: 'array', uniqueItems: true, items: { type: 'string' } } },
      }),
    }),
    `${validation}.properties[a].uniqueItems: Forbidden: uniqueItems cannot be set to true since the runtime complexity becomes quadratic`,
  ],
  [
    'a column of no type',
    definition('as', {
      version: { additionalPrinterColumns: [{ name: 'A', type: 'text', jsonPath: '.a' }] },
    }),
    'spec.additionalPrinterColumns[0].type: Invalid value: "text": must be one of boolean,date,integer,number,string',
  ],
  [
    'replicas outside of the spec',
    definition('as', {
      version: {
        subresources: { scale: { specReplicasPath: '.replicas', statusReplicasPath: '.status.replicas' } },
      },
    }),
    'spec.subresources.scale.specReplicasPath: Invalid value: ".replicas": should be a json path under .spec',
  ],
  [
    'a group of Kubernetes',
    definition('as', { group: 'a.k8s.io' }),
    'metadata.annotations[api-approved.kubernetes.io]: Required value: protected groups must have approval annotation',
  ],
  [
    'fields that are all kept',
    definition('as', { spec: { preserveUnknownFields: true } }),
    'spec.preserveUnknownFields: Invalid value: true: cannot set to true',
  ],
  [
    'a warning of a version that is not deprecated',
    definition('as', { version: { deprecationWarning: 'x' } }),
    'spec.versions[0].deprecationWarning: Invalid value: "x": can only be set for deprecated versions',
  ],
] as const)('%s is refused', async ([, body, message]) => {
  const refused = await post(body);
  expect(messageOf(refused)).toContain(message);
  expect(refused.status).toBe(422);
});
