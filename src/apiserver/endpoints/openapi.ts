import { createHash } from 'node:crypto';
import type { JsonObject } from '../../apimachinery/json.ts';
import { groups, type Kind } from '../../apimachinery/kinds.ts';
import { customDefinitions, customNaming, type DescribedCustom } from './openapi-custom.ts';
import {
  builtInNaming,
  discoveryOperation,
  groupOperation,
  operationsOf,
  readOnlyOperation,
} from './openapi-operations.ts';
import { definitionName, Schemas, type Version } from './openapi-schemas.ts';

const info = { title: 'Kubernetes', version: 'v1.36.2' };
const bearer = {
  BearerToken: {
    description: 'Bearer token authentication',
    in: 'header',
    name: 'authorization',
    type: 'apiKey',
  },
};

/** A document and its hash. */
export interface Document {
  readonly text: string;
  readonly hash: string;
}

/** A document that is made when it is read. Its hash stays; its text only while memory is plenty, as clients hold what they have read. */
class MadeDocument implements Document {
  readonly #make: () => JsonObject;
  #hash: string | undefined;
  #text: WeakRef<{ readonly text: string }> | undefined;

  constructor(make: () => JsonObject) {
    this.#make = make;
  }

  get text(): string {
    const held = this.#text?.deref();
    if (held) return held.text;
    const text = JSON.stringify(this.#make());
    this.#text = new WeakRef({ text });
    return text;
  }

  get hash(): string {
    this.#hash ??= createHash('sha512').update(this.text).digest('hex').toUpperCase();
    return this.#hash;
  }
}

const documents = new Map<string, Document>();

function cached(name: string, make: () => JsonObject): Document {
  let found = documents.get(name);
  if (!found) {
    found = new MadeDocument(make);
    documents.set(name, found);
  }
  return found;
}

/** The kinds that the documents describe. */
export interface Described {
  /** Built-in kinds that the server stores. */
  readonly kinds: readonly Kind[];
  /** Custom kinds; the same list as long as no definition changes. */
  readonly customs: readonly DescribedCustom[];
}

/** Documents with custom kinds, by the first of these: they are made again when any of them changes. */
const customDocuments = new WeakMap<
  Kind,
  Map<string, { readonly kinds: readonly Kind[]; readonly document: Document }>
>();

function cachedFor(customs: readonly DescribedCustom[], name: string, make: () => JsonObject): Document {
  const [first] = customs;
  if (!first) return cached(name, make);
  const byName = customDocuments.get(first.kind) ?? new Map<string, never>();
  customDocuments.set(first.kind, byName);
  const kinds = customs.map(({ kind }) => kind);
  const found = byName.get(name);
  if (found?.kinds.length === kinds.length && found.kinds.every((kind, i) => kind === kinds[i]))
    return found.document;
  const document = new MadeDocument(make);
  byName.set(name, { kinds, document });
  return document;
}

/** Returns paths and definitions of some kinds. */
function contentOf(
  { kinds, customs }: Described,
  version: Version,
): Record<'paths' | 'definitions', JsonObject> {
  const schemas = new Schemas(version);
  const references = { version, to: schemas.wrapped, nameOf: definitionName };
  const all = [...kinds, ...customs.map(({ kind }) => kind)];
  const places = groups(all).flatMap(([group, versions]) => versions.map((one) => ({ group, version: one })));
  const paths = Object.assign(
    {},
    ...places.map((place) => discoveryOperation(place, version)),
    ...kinds.map((kind) => operationsOf(kind, builtInNaming(kind), schemas)),
    ...customs.map(({ kind }) => operationsOf(kind, customNaming(kind), schemas)),
  ) as JsonObject;
  const own = customs.map((custom) => customDefinitions(custom, references));
  return { paths, definitions: Object.assign(schemas.definitions(), ...own) as JsonObject };
}

/** Returns `/openapi/v2`: every served kind in one Swagger document. */
export const swagger = (described: Described): Document =>
  cachedFor(described.customs, `v2 of ${described.kinds.length}`, () => {
    const { paths, definitions } = contentOf(described, 2);
    const names = groups([...described.kinds, ...described.customs.map(({ kind }) => kind)]);
    const more = [...names.map(([group]) => groupOperation(group, 2)), ...roots.map(({ of }) => of(2))];
    return {
      swagger: '2.0',
      info,
      paths: Object.assign({}, ...more, paths) as JsonObject,
      definitions,
      securityDefinitions: bearer,
      security: [{ BearerToken: [] }],
    };
  });

const root = (path: string, id: string, tag: string, description: string): Root => ({
  path,
  of: (version) => readOnlyOperation(`/${path}/`, version, { id, tag, description }),
});

interface Root {
  readonly path: string;
  readonly of: (version: Version) => JsonObject;
}

/** Documents of paths that are no resources. */
const roots: readonly Root[] = [
  root(
    '.well-known/openid-configuration',
    'getServiceAccountIssuerOpenIDConfiguration',
    'WellKnown',
    'get the OpenID configuration of the issuer of service account tokens',
  ),
  root('apis', 'getAPIVersions', 'apis', 'get available API versions'),
  root(
    'openid/v1/jwks',
    'getServiceAccountIssuerOpenIDKeyset',
    'openid',
    'get the public keys for service account tokens',
  ),
  root('version', 'getCodeVersion', 'version', 'get the version of the server'),
];

/** Returns the documents of OpenAPI 3 by path. */
function pathsOf(described: Described): ReadonlyMap<string, () => Document> {
  const of3 = (paths: JsonObject, schemas: JsonObject = {}): JsonObject => ({
    openapi: '3.0.0',
    info,
    paths,
    components: { schemas, securitySchemes: bearer },
  });
  const out = new Map<string, () => Document>();
  for (const { path, of } of roots) out.set(path, () => cached(path, () => of3(of(3))));
  for (const [group, versions] of groups([
    ...described.kinds,
    ...described.customs.map(({ kind }) => kind),
  ])) {
    const path = group ? `apis/${group}` : 'api';
    out.set(path, () => cached(path, () => of3(groupOperation(group, 3))));
    for (const version of versions) {
      const isIn = (kind: Kind): boolean => kind.group === group && kind.version === version;
      const kinds = described.kinds.filter(isIn);
      const customs = described.customs.filter(({ kind }) => isIn(kind));
      const full = `${path}/${version}`;
      out.set(full, () =>
        cachedFor(customs, full, () => {
          const { paths, definitions } = contentOf({ kinds, customs }, 3);
          return of3(paths, definitions);
        }),
      );
    }
  }
  return out;
}

/** Returns one document of OpenAPI 3: of a group and version, of a group, or of a path that is no resource; `undefined` when it is not served. */
export const openApi = (described: Described, path: string): Document | undefined =>
  pathsOf(described).get(path)?.();

/** Returns `/openapi/v3`: the URL of each document with its hash. */
export const openApiIndex = (described: Described): JsonObject => ({
  paths: Object.fromEntries(
    [...pathsOf(described)]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([path, document]) => [
        path,
        { serverRelativeURL: `/openapi/v3/${path}?hash=${document().hash}` },
      ]),
  ),
});
