import { setOwn, tableOf } from '../../base/own.ts';
import type { Draft, JsonObject } from '../../apimachinery/json.ts';
import { groupVersionOf, type Kind, type Subresource } from '../../apimachinery/kinds.ts';
import { mediaTypes } from './negotiate.ts';
import {
  connectQueries,
  type Parameter,
  parametersFor,
  parameterSchema,
  pathParameters,
  queriesOf,
} from './openapi-parameters.ts';
import { definitionName, listName, patchName, type Schemas, watchEventName } from './openapi-schemas.ts';

/** Names the definitions of a kind's objects and lists. */
export interface Naming {
  readonly object: string;
  readonly list: string;
}

/** Media types of custom resources, which are not served as protobuf. */
const customTypes = mediaTypes.filter((type) => !type.includes('protobuf'));
const streamTypes = ['application/json;stream=watch', 'application/vnd.kubernetes.protobuf;stream=watch'];
const statusName = definitionName('Status');
const texts: Readonly<Record<number, string>> = {
  200: 'OK',
  201: 'Created',
  202: 'Accepted',
  401: 'Unauthorized',
};

interface Operation {
  readonly action: string;
  readonly description: string;
  readonly id: string;
  readonly of: JsonObject;
  readonly tag: string;
  readonly parameters?: readonly Parameter[];
  /** Definition of the body. */
  readonly body?: string;
  readonly bodyOptional?: boolean;
  /** Media types of the body. */
  readonly consumes?: readonly string[];
  /** Definition of the answer; absent: text. */
  readonly answer?: string | undefined;
  readonly codes?: readonly number[];
  readonly produces: readonly string[];
}

/** Returns an operation as the version of OpenAPI of the schemas describes it. */
function operationSchema(operation: Operation, schemas: Schemas): JsonObject {
  const { version } = schemas;
  const answer = operation.answer === undefined ? { type: 'string' } : schemas.ref(operation.answer);
  const responses: Draft = {};
  for (const code of operation.codes ?? [200])
    responses[code] = {
      description: texts[code],
      ...(version === 2
        ? { schema: answer }
        : { content: Object.fromEntries(operation.produces.map((type) => [type, { schema: answer }])) }),
    };
  responses[401] = { description: texts[401] };
  const parameters = (operation.parameters ?? []).map((one) => parameterSchema(one, version));
  return {
    description: operation.description,
    operationId: operation.id,
    ...bodySchema(operation, parameters, schemas),
    responses,
    ...(version === 2 && { schemes: ['https'] }),
    tags: [operation.tag],
    'x-kubernetes-action': operation.action,
    'x-kubernetes-group-version-kind': operation.of,
  };
}

function bodySchema(
  { body, bodyOptional, consumes = ['*/*'], produces }: Operation,
  parameters: readonly JsonObject[],
  { version, ref }: Schemas,
): JsonObject {
  if (version === 3)
    return {
      ...(parameters.length > 0 && { parameters }),
      ...(body !== undefined && {
        requestBody: {
          content: Object.fromEntries(consumes.map((type) => [type, { schema: ref(body) }])),
          ...(!bodyOptional && { required: true }),
        },
      }),
    };
  const inBody =
    body === undefined
      ? []
      : [{ in: 'body', name: 'body', ...(!bodyOptional && { required: true }), schema: ref(body) }];
  const all = [...inBody, ...parameters];
  return { consumes, produces, ...(all.length > 0 && { parameters: all }) };
}

const upper = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
const lower = (text: string): string => text.charAt(0).toLowerCase() + text.slice(1);

/** Returns a group as operations name it: `Core`, `RbacAuthorization`. */
const groupWord = (group: string): string =>
  (group === '' ? 'core' : group.replace(/\.k8s\.io$/, '')).split(/[.-]/).map(upper).join('');

const rootOf = ({ group, version }: Pick<Kind, 'group' | 'version'>): string =>
  group ? `/apis/${group}/${version}` : `/api/${version}`;

/** Describes the operations on a kind: those of its objects, lists, watches and subresources. */
class KindOperations {
  readonly #kind: Kind;
  readonly #naming: Naming;
  readonly #schemas: Schemas;
  readonly paths: Draft = {};
  readonly #tag: string;
  /** `CoreV1NamespacedPod`. */
  readonly #scoped: string;
  /** `CoreV1`. */
  readonly #prefix: string;

  constructor(kind: Kind, naming: Naming, schemas: Schemas) {
    this.#kind = kind;
    this.#naming = naming;
    this.#schemas = schemas;
    const word = groupWord(kind.group);
    this.#tag = `${lower(word)}_${kind.version}`;
    this.#prefix = `${word}${upper(kind.version)}`;
    this.#scoped = `${this.#prefix}${kind.namespaced ? 'Namespaced' : ''}${kind.kind}`;
  }

  describe(): void {
    const { namespaced, resource, subresources } = this.#kind;
    const root = rootOf(this.#kind);
    const base = `${root}${namespaced ? '/namespaces/{namespace}' : ''}/${resource}`;
    const item = `${base}/{name}`;
    this.#collection(base);
    if (namespaced && this.#can('list')) this.#everywhere(`${root}/${resource}`);
    this.#item(item);
    for (const subresource of subresources) this.#subresource(item, subresource);
    // custom kinds never had paths of their own for watches
    if (this.#can('watch') && !this.#kind.custom) this.#watches(root, base);
  }

  #can(verb: string): boolean {
    return this.#kind.verbs.includes(verb);
  }

  #operation(
    action: string,
    id: string,
    description: string,
    more: Partial<Operation> = {},
  ): readonly [JsonObject] {
    const { group, version, kind } = this.#kind;
    const own = this.#kind.custom
      ? { produces: customTypes, consumes: customTypes }
      : { produces: mediaTypes };
    const operation = { of: { group, kind, version }, tag: this.#tag, ...own, ...more };
    return [
      operationSchema({ action, id, description, answer: this.#naming.object, ...operation }, this.#schemas),
    ];
  }

  #path(
    path: string,
    methods: Readonly<Record<string, readonly [JsonObject] | false>>,
    more: readonly Parameter[] = [],
  ): void {
    const served = Object.entries(methods).flatMap(([method, operation]) =>
      operation ? [[method, operation[0]] as const] : [],
    );
    if (served.length === 0) return;
    const parameters = [...pathParameters(path, this.#kind.kind), ...more].map((one) =>
      parameterSchema(one, this.#schemas.version),
    );
    setOwn(this.paths, path, { ...Object.fromEntries(served), ...(parameters.length > 0 && { parameters }) });
  }

  #list(id: string, parameters: readonly Parameter[]): readonly [JsonObject] {
    const description = `list or watch objects of kind ${this.#kind.kind}`;
    return this.#operation('list', id, description, {
      parameters,
      answer: this.#naming.list,
      ...(!this.#kind.custom && { produces: [...mediaTypes, ...streamTypes] }),
    });
  }

  #collection(path: string): void {
    const { kind, namespaced } = this.#kind;
    const body = this.#naming.object;
    const many = `delete${this.#prefix}Collection${namespaced ? 'Namespaced' : ''}${kind}`;
    this.#path(
      path,
      {
        get: this.#can('list') && this.#list(`list${this.#scoped}`, parametersFor.list),
        post:
          this.#can('create') &&
          this.#operation('post', `create${this.#scoped}`, `create ${article(kind)} ${kind}`, {
            parameters: parametersFor.write,
            body,
            codes: [200, 201, 202],
          }),
        delete:
          this.#can('deletecollection') &&
          this.#operation('deletecollection', many, `delete collection of ${kind}`, {
            ...(this.#kind.custom
              ? { answer: statusName, parameters: parametersFor.list }
              : { ...deletion, parameters: parametersFor.deletecollection }),
          }),
      },
      queriesOf('pretty'),
    );
  }

  #everywhere(path: string): void {
    const id = `list${this.#prefix}${this.#kind.kind}ForAllNamespaces`;
    this.#path(path, { get: this.#list(id, []) }, [...parametersFor.list, ...queriesOf('pretty')]);
  }

  #item(path: string): void {
    const { kind } = this.#kind;
    const remove =
      this.#can('delete') &&
      this.#operation('delete', `delete${this.#scoped}`, `delete ${article(kind)} ${kind}`, {
        ...deletion,
        parameters: parametersFor.delete,
        codes: [200, 202],
      });
    this.#path(path, { ...this.#object('', this.#kind.verbs), delete: remove }, queriesOf('pretty'));
  }

  /** Describes GET, PUT and PATCH of an object or a subresource. */
  #object(
    sub: string,
    verbs: readonly string[],
    more: Partial<Operation> = {},
  ): Record<string, readonly [JsonObject] | false> {
    const what = `${sub === '' ? '' : `${sub} of `}the specified ${this.#kind.kind}`;
    const id = `${this.#scoped}${upper(sub)}`;
    const written = { codes: [200, 201], ...more };
    const { custom } = this.#kind;
    const reading = { ...(custom && { parameters: queriesOf('resourceVersion') }), ...more };
    const body = more.answer ?? this.#naming.object;
    return {
      get: verbs.includes('get') && this.#operation('get', `read${id}`, `read ${what}`, reading),
      put:
        verbs.includes('update') &&
        this.#operation('put', `replace${id}`, `replace ${what}`, {
          parameters: parametersFor.write,
          body,
          ...written,
        }),
      patch:
        verbs.includes('patch') &&
        this.#operation('patch', `patch${id}`, `partially update ${what}`, {
          parameters: parametersFor.patch,
          body: patchName,
          consumes: patchTypes(this.#kind),
          ...written,
          ...(custom && { codes: [200] }),
        }),
    };
  }

  #subresource(item: string, sub: Subresource): void {
    const path = `${item}/${sub.name}`;
    if (sub.name === 'log') this.#log(path);
    else if (connectQueries[sub.name] !== undefined) this.#connect(path, sub);
    else this.#ownSubresource(path, sub);
  }

  /** Describes a subresource whose bodies are API objects. */
  #ownSubresource(path: string, sub: Subresource): void {
    const { group = this.#kind.group, version = this.#kind.version, kind } = sub;
    const own = sub.kind === this.#kind.kind;
    const answer = own ? this.#naming.object : definitionName(typesOfSubresources[kind] ?? kind);
    const more = { answer, of: { group, kind, version } };
    const { kind: owner } = this.#kind;
    const create =
      sub.verbs.includes('create') &&
      this.#operation(
        'post',
        `create${this.#scoped}${upper(sub.name)}`,
        `create ${sub.name} of ${article(owner)} ${owner}`,
        {
          ...more,
          parameters: parametersFor.write,
          body: answer,
          codes: [200, 201, 202],
        },
      );
    this.#path(path, { ...this.#object(sub.name, sub.verbs, more), post: create }, queriesOf('pretty'));
  }

  #log(path: string): void {
    const get = this.#operation(
      'get',
      `read${this.#scoped}Log`,
      `read log of the specified ${this.#kind.kind}`,
      {
        answer: undefined,
        produces: ['text/plain', ...mediaTypes],
      },
    );
    this.#path(path, { get }, queriesOf(connectQueries['log'] ?? ''));
  }

  #connect(path: string, sub: Subresource): void {
    const proxied = sub.name === 'proxy';
    for (const [below, suffix] of proxied
      ? ([
          ['', ''],
          ['/{path}', 'WithPath'],
        ] as const)
      : ([['', '']] as const)) {
      const methods = proxied ? proxyMethods : ['get', 'post'];
      const operations = methods.map((method) => {
        const id = `connect${this.#prefix}${upper(method)}${this.#scoped.slice(this.#prefix.length)}${upper(sub.name)}${suffix}`;
        const description = `connect ${method.toUpperCase()} requests to ${sub.name} of ${this.#kind.kind}`;
        const of = { group: '', kind: sub.kind, version: 'v1' };
        return [
          method,
          this.#operation('connect', id, description, { of, answer: undefined, produces: ['*/*'] }),
        ] as const;
      });
      this.#path(
        `${path}${below}`,
        Object.fromEntries(operations),
        queriesOf(connectQueries[sub.name] ?? ''),
      );
    }
  }

  /** Describes the deprecated paths of watches. */
  #watches(root: string, base: string): void {
    const { kind, namespaced, resource } = this.#kind;
    const below = base.slice(root.length);
    const use = "deprecated: use the 'watch' parameter with a list operation instead";
    const more = { answer: watchEventName, produces: [...mediaTypes, ...streamTypes] };
    const parameters = [...queriesOf('pretty'), ...parametersFor.list];
    const list = (id: string): readonly [JsonObject] =>
      this.#operation('watchlist', id, `watch individual changes to a list of ${kind}. ${use}.`, more);
    this.#path(`${root}/watch${below}`, { get: list(`watch${this.#scoped}List`) }, parameters);
    if (namespaced)
      this.#path(
        `${root}/watch/${resource}`,
        { get: list(`watch${this.#prefix}${kind}ListForAllNamespaces`) },
        parameters,
      );
    const one = `watch changes to an object of kind ${kind}. ${use}, filtered to a single item with the 'fieldSelector' parameter.`;
    const get = this.#operation('watch', `watch${this.#scoped}`, one, more);
    this.#path(`${root}/watch${below}/{name}`, { get }, parameters);
  }
}

const proxyMethods = ['delete', 'get', 'head', 'options', 'patch', 'post', 'put'];

const deletion: Partial<Operation> = {
  answer: statusName,
  body: definitionName('DeleteOptions'),
  bodyOptional: true,
};

/** Types of subresources whose kind is named otherwise in the table of types. */
const typesOfSubresources: Readonly<Record<string, string>> = tableOf({
  TokenRequest: 'AuthenticationV1TokenRequest',
});

const article = (word: string): string => (/^[AEIOU]/.test(word) ? 'an' : 'a');

const patchTypes = ({ custom }: Kind): readonly string[] => [
  'application/apply-patch+yaml',
  'application/json-patch+json',
  'application/merge-patch+json',
  ...(custom ? [] : ['application/strategic-merge-patch+json']),
];

/** Names of a built-in kind's definitions. */
export const builtInNaming = ({ type }: Kind): Naming => ({
  object: definitionName(type),
  list: listName(type),
});

/** Returns the paths of a kind with their operations. */
export function operationsOf(kind: Kind, naming: Naming, schemas: Schemas): JsonObject {
  const operations = new KindOperations(kind, naming, schemas);
  operations.describe();
  return operations.paths;
}

/** Returns the path that lists the resources of a group and version. */
export function discoveryOperation(
  place: Pick<Kind, 'group' | 'version'>,
  version: Schemas['version'],
): JsonObject {
  const word = groupWord(place.group);
  return readOnlyOperation(`${rootOf(place)}/`, version, {
    id: `get${word}${upper(place.version)}APIResources`,
    description: `get the resources of ${groupVersionOf(place)}`,
    tag: `${lower(word)}_${place.version}`,
  });
}

/** Returns the path that names the versions of a group; absent: of the core. */
export function groupOperation(group: string, version: Schemas['version']): JsonObject {
  const word = groupWord(group);
  return readOnlyOperation(group ? `/apis/${group}/` : '/api/', version, {
    id: `get${word}${group ? 'APIGroup' : 'APIVersions'}`,
    description: group ? 'get information of a group' : 'get available API versions',
    tag: lower(word),
  });
}

/** Returns a path that can only be read, and answers a JSON object. */
export function readOnlyOperation(
  path: string,
  version: Schemas['version'],
  { id, description, tag }: { readonly id: string; readonly description: string; readonly tag: string },
): JsonObject {
  const schema = { type: 'object' };
  const answer = version === 2 ? { schema } : { content: { 'application/json': { schema } } };
  return {
    [path]: {
      get: {
        description,
        operationId: id,
        ...(version === 2 && { produces: ['application/json'], schemes: ['https'] }),
        responses: { 200: { description: texts[200], ...answer }, 401: { description: texts[401] } },
        tags: [tag],
      },
    },
  };
}
