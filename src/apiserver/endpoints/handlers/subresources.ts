import { ownMember, setOwn } from '../../../base/own.ts';
import type { ServerResponse } from 'node:http';
import type { AddressProxy, ProxyCall } from '../../proxy/address-proxy.ts';
import type { TokenSigner } from '../../authentication/token-signer.ts';
import type { AdmissionChain } from '../../admission/chain.ts';
import { admittedAction } from './admitted.ts';
import { bodyFormat, type Expected, readWritten } from '../body.ts';
import { evict } from '../../registry/eviction.ts';
import type { Empties } from '../../../apimachinery/serializer/codec.ts';
import { contextOf, withWarnings } from '../exchange.ts';
import {
  type Draft,
  type JsonObject,
  nameOf,
  objectAt,
  objectsAt,
  stringAt,
  valueAt,
} from '../../../apimachinery/json.ts';
import { builtIn, type Kind } from '../../../apimachinery/kinds.ts';
import type { KubeletProxy } from '../../proxy/kubelet-proxy.ts';
import type { KubeletStreams } from '../../proxy/kubelet-streams.ts';
import { manageUpdate } from '../../../apimachinery/managed-fields/managed-fields.ts';
import { checkNamespaceOf } from '../../registry/metadata-rules.ts';
import { keyOf } from '../../storage/store.ts';
import { mediaTypes, negotiate, wantsPretty } from '../negotiate.ts';

import { type ApiRequest, isTrue, type ResourcePath } from '../../request/request.ts';
import type { ResourceApi } from './resource-api.ts';
import { sendBody } from '../respond.ts';
import {
  badRequest,
  conflict,
  fault,
  invalid,
  linesOf,
  methodNotAllowed,
  StatusError,
} from '../../../apimachinery/status-error.ts';

import { bound } from '../../registry/core/strategy-pods.ts';
import type { World, WriteContext } from '../../request/write-context.ts';
import { seconds } from '../../../apimachinery/times.ts';
import { defaultLifetime, issueToken } from '../../registry/token-request.ts';
import { bareViews, viewBare } from '../views.ts';
import { optionsOf, readDeleteOptions, readWriteQuery, type WriteQuery } from '../write-options.ts';

export interface SubresourceDeps {
  readonly world: World;
  readonly resources: ResourceApi;
  readonly admission: AdmissionChain;
  readonly proxy: KubeletProxy;
  readonly streams: KubeletStreams;
  readonly addresses: AddressProxy;
  readonly signer: TokenSigner;
}

interface Call {
  readonly request: ApiRequest;
  readonly response: ServerResponse;
  readonly target: ResourcePath;
  readonly kind: Kind;
}

type Handler = (call: Call) => Promise<void>;

/** The body of a POST to a subresource that acts. */
interface CreateRequest {
  readonly object: JsonObject;
  readonly empties: Empties;
  readonly query: WriteQuery;
  readonly context: WriteContext;
}

const bindingBody: Expected = {
  apiVersion: 'v1',
  kind: 'Binding',
  type: 'Binding',
  internal: 'core.Binding',
};
const tokenBody: Expected = {
  apiVersion: 'authentication.k8s.io/v1',
  kind: 'TokenRequest',
  type: 'AuthenticationV1TokenRequest',
  internal: 'authentication.TokenRequest',
};
const evictionBody: Expected = {
  apiVersion: 'policy/v1',
  kind: 'Eviction',
  type: 'Eviction',
  internal: 'policy.Eviction',
  fits: (apiVersion) => apiVersion === 'policy/v1' || apiVersion === 'policy/v1beta1',
};

/** The option by which an object that cannot be read is deleted. */
const unsafeDelete = 'ignoreStoreReadErrorWithClusterBreakingPotential';

/** Content types that the route of logs produces; a log itself is always text. */
const logTypes: readonly string[] = ['text/plain', ...mediaTypes];

const success = (code: number): JsonObject => ({
  kind: 'Status',
  apiVersion: 'v1',
  metadata: {},
  status: 'Success',
  code,
});

/** @throws {StatusError} 400, 500 for a binding without a node */
function checkBinding(name: string, binding: JsonObject): void {
  const target = objectAt(binding, 'target');
  if (nameOf(binding) !== name) throw badRequest(`name in URL does not match name in Binding object`);
  const faults = [];
  if (!['', 'Node'].includes(stringAt(target, 'kind')))
    faults.push(fault.unsupported('target.kind', stringAt(target, 'kind'), ['Node', '<empty>']));
  if (stringAt(target, 'name') === '') faults.push(fault.required('target.name'));
  if (faults.length > 0) throw new StatusError(500, '', linesOf(faults));
}

/** Returns why a pod cannot be bound (A13). */
function unbindable(name: string, pod: JsonObject): string | undefined {
  const spec = objectAt(pod, 'spec');
  const node = stringAt(spec, 'nodeName');
  if (valueAt(pod, 'metadata', 'deletionTimestamp') !== undefined)
    return `pod ${name} is being deleted, cannot be assigned to a host`;
  if (node !== '') return `pod ${name} is already assigned to node ${JSON.stringify(node)}`;
  return objectsAt(spec, 'schedulingGates').length > 0
    ? `pod ${name} has non-empty .spec.schedulingGates`
    : undefined;
}

/** Subresources implements subresources that act instead of reading or writing a part of the object. */
export class Subresources {
  readonly #deps: SubresourceDeps;
  readonly #handlers: Readonly<Record<string, Handler>>;

  constructor(deps: SubresourceDeps) {
    this.#deps = deps;
    this.#handlers = {
      'pods/binding': (call) => this.#bind(call, call.target.name),
      'pods/eviction': (call) => this.#evict(call),
      'pods/log': (call) => this.#log(call),
      'pods/exec': (call) => this.#stream(call),
      'pods/attach': (call) => this.#stream(call),
      'pods/portforward': (call) => this.#stream(call),
      'serviceaccounts/token': (call) => this.#token(call),
      'nodes/proxy': (call) => this.#proxy('nodes', call),
      'pods/proxy': (call) => this.#proxy('pods', call),
      'services/proxy': (call) => this.#proxy('services', call),
    };
  }

  /** Returns the handler of a subresource; `undefined` for those that read and write the object itself. */
  handler(resource: string, subresource: string): Handler | undefined {
    return ownMember(this.#handlers, `${resource}/${subresource}`);
  }

  #representation({ request }: Call): ReturnType<typeof negotiate> {
    return negotiate(request.raw.headers.accept, {
      views: bareViews,
      pretty: wantsPretty(request.query, request.raw.headers['user-agent']),
    });
  }

  /** Reads the body, admits it and acts; strict decoding findings are sent with any response. */
  async #create(call: Call, expected: Expected, act: (request: CreateRequest) => JsonObject): Promise<void> {
    const request = await this.#read(call, expected);
    const { warnings } = request.context;
    try {
      checkNamespaceOf(request.object, call.target.namespace);
      const object = await this.#admit(call, request);
      const body = act({ ...request, object });
      await this.#deps.world.store.settled();
      const representation = this.#representation(call);
      await sendBody(call.request.raw, call.response, {
        status: 201,
        body: viewBare(body, representation, expected.internal),
        representation,
        extras: { warnings },
      });
    } catch (reason) {
      throw withWarnings(reason, warnings);
    }
  }

  async #admit({ target, kind }: Call, { object, query, context }: CreateRequest): Promise<JsonObject> {
    const admissible = {
      operation: 'CREATE',
      kind,
      subresource: target.subresource,
      namespace: target.namespace,
      name: target.name || nameOf(object),
      object,
      options: optionsOf('CreateOptions', query),
      context,
    } as const;
    return (await admittedAction(this.#deps.admission, admissible)) ?? object;
  }

  async #read(call: Call, expected: Expected): Promise<CreateRequest> {
    if (call.request.method !== 'POST') throw methodNotAllowed();
    this.#representation(call);
    bodyFormat(call.request.raw);
    const query = readWriteQuery(call.request.query, call.request.raw.headers['user-agent'], {
      options: 'CreateOptions',
      apply: false,
    });
    const { object, empties, warnings } = await readWritten(call.request.raw, expected, query);
    const context = { ...contextOf(this.#deps.world, call.request, query.dryRun), empties };
    context.warnings.push(...warnings);
    return { object, empties, query, context };
  }

  /** Handles `bindings` and `pods/NAME/binding` (A13). */
  #bind(call: Call, name: string): Promise<void> {
    return this.#create(call, bindingBody, ({ object, query }) => {
      const pod = name || nameOf(object);
      this.bind(call.target.namespace, pod, object, query.dryRun);
      return success(201);
    });
  }

  /** Binds a pod to a node. @throws {StatusError} 409 when it is bound or gated */
  bind(namespace: string, name: string, binding: JsonObject, dryRun = false): void {
    const { resources, world } = this.#deps;
    checkBinding(name, binding);
    const registry = resources.registry(builtIn('pods'));
    const { object: pod } = registry.entry(namespace, name);
    const uid = stringAt(objectAt(binding, 'metadata'), 'uid');
    const found = stringAt(objectAt(pod, 'metadata'), 'uid');
    if (uid !== '' && uid !== found)
      throw conflict(
        { kind: 'pods', name },
        `StorageError: invalid object, Code: 4, Key: /registry/pods/${namespace}/${name}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: ${uid}, UID in object meta: ${found}`,
      );
    const why = unbindable(name, pod);
    if (why !== undefined) throw conflict({ kind: 'pods/binding', name }, why);
    if (!dryRun) registry.put(bound(pod, binding, seconds(world.clock.now())), pod);
  }

  #evict(call: Call): Promise<void> {
    return this.#create(call, evictionBody, (request) => this.#evicted(call, request));
  }

  #evicted(call: Call, { object, context: requestContext }: CreateRequest): JsonObject {
    if (nameOf(object) !== call.target.name)
      throw badRequest('name in URL does not match name in Eviction object');
    if (valueAt(object, 'deleteOptions', unsafeDelete) === true)
      throw invalid('Eviction', 'policy', nameOf(object), [
        fault.invalid(
          `deleteOptions.${unsafeDelete}`,
          true,
          'can not be set for pod eviction, try after removing the option',
        ),
      ]);
    const registry = this.#deps.resources.registry(builtIn('pods'));
    const deleteOptions = object['deleteOptions'];
    const options = readDeleteOptions(
      deleteOptions === undefined ? {} : objectAt(object, 'deleteOptions'),
      new URLSearchParams(),
    );
    const context = { ...requestContext, dryRun: requestContext.dryRun || options.dryRun };
    evict({ namespace: call.target.namespace, name: call.target.name, options }, registry, context);
    return success(201);
  }

  #token(call: Call): Promise<void> {
    return this.#create(call, tokenBody, (request) => this.#issued(call, request));
  }

  #issued(call: Call, { object, empties, query: { manager }, context }: CreateRequest): JsonObject {
    const { namespace, name } = call.target;
    const issued = issueToken({ namespace, name }, object, context, this.#deps.signer);
    const now = this.#deps.world.clock.now();
    const account = this.#deps.world.store.get('serviceaccounts', keyOf(namespace, name));
    const { managedFields } = objectAt(
      manageUpdate(undefined, asSent(object, empties), tokenBody.type, {
        zero: { spec: { audiences: null, expirationSeconds: null, boundObjectRef: null } },
        writer: { manager, operation: 'Update', apiVersion: tokenBody.apiVersion, subresource: 'token' },
        now,
        reset: [['f:status']],
      }),
      'metadata',
    );
    const metadata = {
      name,
      namespace,
      ...(account && { uid: valueAt(account.object, 'metadata', 'uid') }),
      creationTimestamp: seconds(now),
      ...(managedFields !== undefined && { managedFields }),
    };
    return { kind: 'TokenRequest', apiVersion: 'authentication.k8s.io/v1', metadata, ...issued };
  }

  async #log(call: Call): Promise<void> {
    if (call.request.method !== 'GET') throw methodNotAllowed();
    negotiate(call.request.raw.headers.accept, { produces: logTypes });
    const { namespace, name } = call.target;
    await this.#deps.proxy.logs({ namespace, name, query: call.request.query }, call.response);
  }

  /** Handles `exec`, `attach` and `portforward`: only upgrades, which are joined with the kubelet's connection. */
  async #stream(whole: Call): Promise<void> {
    const { request, target } = whole;
    if (!['GET', 'POST'].includes(request.method)) throw methodNotAllowed();
    checkConnect(request);
    await this.#connect(whole);
    const call = { ...target, query: request.query };
    if (request.upgrading) return this.#deps.streams.join(call, request.upgrading);
    this.#deps.proxy.streamPath(call);
    throw badRequest('Upgrade request required');
  }

  /** Admits a connection. @throws {StatusError} */
  async #connect({ request, target, kind }: Call): Promise<void> {
    const { subresource, namespace, name } = target;
    const context = contextOf(this.#deps.world, request, false);
    const connection = {
      operation: 'CONNECT',
      kind,
      subresource,
      namespace,
      name,
      object: connectOptions(request.query),
      options: {},
      context,
    } as const;
    await admittedAction(this.#deps.admission, connection);
  }

  async #proxy(resource: ProxyCall['resource'], whole: Call): Promise<void> {
    const { request, response, target } = whole;
    checkConnect(request);
    await this.#connect(whole);
    const call = { resource, namespace: target.namespace, name: target.name, ...below(request) };
    await (request.upgrading
      ? this.#deps.addresses.join(call, request.upgrading)
      : this.#deps.addresses.serve(call, request.raw, response));
  }

  /** Handles kinds that are created but not stored: `bindings`. */
  createBinding(call: Call): Promise<void> {
    return this.#bind(call, '');
  }
}

/** Returns a token request as sent, for field ownership: with its default lifetime, and an empty list of audiences if there was one. */
const asSent = (request: JsonObject, empties: Empties): JsonObject => {
  const spec = objectAt(request, 'spec');
  const audiences = empties.get('spec.audiences') ?? spec['audiences'];
  const expirationSeconds = spec['expirationSeconds'] ?? defaultLifetime;
  return { ...request, spec: { ...spec, audiences, expirationSeconds } };
};

/** Parameters of connections that may be repeated. */
const listParameters: ReadonlySet<string> = new Set(['command', 'ports']);

/** Returns the options of a connection as the object that admission sees: the query by the fields of PodExecOptions and its like. */
function connectOptions(query: URLSearchParams): JsonObject {
  const options: Draft = {};
  for (const name of new Set(query.keys())) {
    const values = query.getAll(name);
    const [first = ''] = values;
    if (listParameters.has(name)) setOwn(options, name, name === 'ports' ? values.map(Number) : values);
    else setOwn(options, name, flags.has(name) ? isTrue(first) : first);
  }
  return options;
}

const flags: ReadonlySet<string> = new Set(['stdin', 'stdout', 'stderr', 'tty']);

/** @throws {StatusError} 400 for a dry run: a connection has effects */
function checkConnect({ query }: ApiRequest): void {
  if (query.has('dryRun')) throw badRequest('dryRun is not supported');
}

/** Returns what follows `/proxy`, as the client wrote it. */
function below({ raw, path }: ApiRequest): Pick<ProxyCall, 'path' | 'search'> {
  const url = raw.url ?? '';
  const search = url.includes('?') ? url.slice(url.indexOf('?')) : '';
  return { path: path.replace(/^\/api\/v1\/(?:namespaces\/[^/]+\/)?[^/]+\/[^/]+\/proxy/, ''), search };
}
