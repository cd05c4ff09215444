import { afterAll, beforeAll, expect, test } from 'vitest';
import { kinds } from '../../../src/apimachinery/kinds.ts';
import { EmbeddedApiServer } from '../../../src/apiserver/index.ts';
import { openApi, openApiIndex, swagger } from '../../../src/apiserver/endpoints/openapi.ts';
import { swaggerProtobuf } from '../../../src/apiserver/endpoints/openapi-protobuf.ts';
import { wireFields } from '../../../src/base/protobuf-wire.ts';
import { call } from '../support.ts';

let server: EmbeddedApiServer;
beforeAll(async () => {
  server = await EmbeddedApiServer.start();
});
afterAll(() => server.stop());

interface Operation {
  readonly operationId: string;
  readonly description: string;
  readonly parameters?: readonly { readonly name: string; readonly in: string }[];
  readonly responses: Readonly<Record<string, unknown>>;
}
type Item = Readonly<Record<string, Operation>>;
interface Schema {
  readonly description?: string;
  readonly properties: Readonly<Record<string, Schema>>;
}
interface Document {
  readonly paths: Readonly<Record<string, Item>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
  readonly definitions: Readonly<Record<string, Schema>>;
}

const described = { kinds, customs: [] };
const read = (text: string | undefined): Document => JSON.parse(text ?? '{}') as Document;
const version3 = (path: string): Document => read(openApi(described, path)?.text);
const version2 = read(swagger(described).text);

const operationsIn = ({ paths }: Document): Operation[] =>
  Object.values(paths).flatMap((item) =>
    Object.entries(item).flatMap(([method, operation]) => (method === 'parameters' ? [] : [operation])),
  );

test('types and their fields have the descriptions of the reference documentation', () => {
  const { schemas } = version3('apis/apps/v1').components;
  expect(schemas['io.k8s.api.apps.v1.Deployment']?.description).toMatch(/^Deployment enables declarative/);
  const spec = schemas['io.k8s.api.core.v1.PodSpec']?.properties;
  expect(spec?.['restartPolicy']?.description).toMatch(/^Restart policy for all containers/);
  expect(spec?.['affinity']?.description).toMatch(/^Affinity is a group/);
  const bare = Object.entries(version2.definitions).filter(([, { description }]) => !description);
  expect(bare).toEqual([]);
  const fields = Object.entries(version2.definitions).flatMap(([name, { properties = {} }]) =>
    Object.entries(properties).flatMap(([field, { description }]) =>
      description ? [] : [`${name}.${field}`],
    ),
  );
  // the documentation has no words for the vocabulary of JSON Schema
  expect(fields.filter((field) => !/JSONSchemaProps|ExternalDocumentation/.test(field))).toEqual([]);
});

test('quantities, times and numbers that may be texts are types of their own', () => {
  const { schemas } = version3('api/v1').components;
  expect(schemas['io.k8s.api.core.v1.EmptyDirVolumeSource']?.properties['sizeLimit']).toMatchObject({
    allOf: [{ $ref: '#/components/schemas/io.k8s.apimachinery.pkg.api.resource.Quantity' }],
  });
  expect(schemas['io.k8s.api.core.v1.HTTPGetAction']).toMatchObject({
    required: ['port'],
    properties: { port: { allOf: [{ $ref: expect.stringMatching(/IntOrString$/) as string }] } },
  });
  expect(schemas['io.k8s.api.core.v1.Container']?.properties['name']).toMatchObject({ default: '' });
});

test('every reference leads to a definition', () => {
  const paths = Object.keys((openApiIndex(described) as { paths: object }).paths);
  expect(paths).toContain('apis/apps/v1');
  for (const path of paths) {
    const text = openApi(described, path)?.text ?? '';
    const { components } = read(text);
    for (const [, name = ''] of text.matchAll(/"#\/components\/schemas\/([^"]+)"/g))
      expect(components.schemas, `${path}: ${name}`).toHaveProperty([name]);
  }
  for (const [, name = ''] of swagger(described).text.matchAll(/"#\/definitions\/([^"]+)"/g))
    expect(version2.definitions, name).toHaveProperty([name]);
});

test('each kind has its operations: of lists, objects, subresources and watches', () => {
  const { paths } = version3('api/v1');
  const pods = '/api/v1/namespaces/{namespace}/pods';
  expect(Object.keys(paths[pods] ?? {})).toEqual(['get', 'post', 'delete', 'parameters']);
  expect(paths[pods]?.['get']).toMatchObject({
    operationId: 'listCoreV1NamespacedPod',
    'x-kubernetes-action': 'list',
    'x-kubernetes-group-version-kind': { group: '', version: 'v1', kind: 'Pod' },
    responses: {
      200: {
        content: {
          'application/json;stream=watch': {
            schema: { $ref: '#/components/schemas/io.k8s.api.core.v1.PodList' },
          },
        },
      },
    },
  });
  expect(paths[`${pods}/{name}`]).toMatchObject({
    get: { operationId: 'readCoreV1NamespacedPod' },
    put: { operationId: 'replaceCoreV1NamespacedPod', responses: { 201: { description: 'Created' } } },
    patch: { 'x-kubernetes-action': 'patch' },
    delete: { description: 'delete a Pod', responses: { 202: { description: 'Accepted' } } },
    parameters: [{ name: 'name', in: 'path' }, { name: 'namespace' }, { name: 'pretty', in: 'query' }],
  });
  expect(paths[`${pods}/{name}/exec`]).toMatchObject({
    post: {
      operationId: 'connectCoreV1PostNamespacedPodExec',
      'x-kubernetes-group-version-kind': { kind: 'PodExecOptions' },
    },
  });
  expect(Object.keys(paths[`${pods}/{name}/proxy/{path}`] ?? {})).toHaveLength(8);
  expect(paths[`${pods}/{name}/eviction`]?.['post']?.operationId).toBe('createCoreV1NamespacedPodEviction');
  expect(paths['/api/v1/pods']?.['get']?.operationId).toBe('listCoreV1PodForAllNamespaces');
  expect(paths['/api/v1/watch/pods']?.['get']?.operationId).toBe('watchCoreV1PodListForAllNamespaces');
  const scale =
    version3('apis/apps/v1').paths['/apis/apps/v1/namespaces/{namespace}/deployments/{name}/scale'];
  expect(scale?.['get']).toMatchObject({
    operationId: 'readAppsV1NamespacedDeploymentScale',
    'x-kubernetes-group-version-kind': { group: 'autoscaling', version: 'v1', kind: 'Scale' },
  });
});

test('operations have names that are unique, and answers', () => {
  const operations = operationsIn(version2);
  const names = operations.map(({ operationId }) => operationId);
  expect(names.length).toBeGreaterThan(800);
  expect(names.filter((name, at) => names.indexOf(name) !== at)).toEqual([]);
  for (const operation of operations) expect(operation.responses).toHaveProperty(['401']);
});

test('the index names the documents of groups and of paths that are no resources', async () => {
  const { body } = await call(server, 'GET', '/openapi/v3');
  const { paths } = body as unknown as { paths: Record<string, { serverRelativeURL: string }> };
  for (const path of [
    '.well-known/openid-configuration',
    'api',
    'apis',
    'apis/apps',
    'openid/v1/jwks',
    'version',
  ]) {
    const url = paths[path]?.serverRelativeURL ?? '';
    expect(url).toMatch(new RegExp(`^/openapi/v3/${path}\\?hash=[0-9A-F]{128}$`));
    expect((await call(server, 'GET', url)).status, url).toBe(200);
  }
});

test('version 2 as protobuf holds the same paths, operations and definitions', () => {
  const within = (body: Buffer | undefined, number: number): Buffer[] =>
    wireFields(body ?? Buffer.alloc(0), Error.bind(undefined))
      .filter((field) => field.number === number)
      .map((field) => field.bytes);
  const message = swaggerProtobuf(JSON.parse(swagger(described).text) as never);
  const named = within(within(message, 8)[0], 2);
  expect(named).toHaveLength(Object.keys(version2.paths).length);
  expect(within(within(message, 9)[0], 1)).toHaveLength(Object.keys(version2.definitions).length);
  const path = '/api/v1/namespaces/{namespace}/pods/{name}';
  const item = within(
    named.find((one) => within(one, 1)[0]?.toString() === path),
    2,
  )[0];
  const [put] = within(item, 3);
  expect(within(put, 5).map(String)).toEqual(['replaceCoreV1NamespacedPod']);
  expect(within(put, 8)).toHaveLength(4);
  const codes = within(within(put, 9)[0], 1).map((response) => String(within(response, 1)[0]));
  expect(codes).toEqual(['200', '201', '401']);
  expect(within(item, 9)).toHaveLength(3);
});
