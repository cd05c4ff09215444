import { tableOf } from '../../base/own.ts';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Authenticator } from '../authentication/authenticator.ts';
import type { TokenSigner } from '../authentication/token-signer.ts';
import type { Authorizer } from '../authorization/authorizer.ts';
import type { Logger } from '../../base/logger.ts';
import type { CustomResources } from '../apiextensions/custom-resources.ts';
import { isGroup } from './discovery.ts';
import { discovery, notFoundText, openapi, readOnly, sendDocument, versionInfo } from './documents.ts';
import { type FilterDeps, filterChain } from '../filters/chain.ts';
import { type HealthRoot, healthChecks, healthPath, type Vitals } from './health.ts';
import type { JsonObject } from '../../apimachinery/json.ts';
import {
  groupVersionOf,
  type Kind,
  kinds,
  metricsKinds,
  trustBundleKinds,
} from '../../apimachinery/kinds.ts';
import type { MetricFamily } from '../../metrics/family.ts';
import { type HealthCheck, runHealthCheck, runHealthChecks } from '../../kube/health-checks.ts';
import { flagzPage, statuszPage, type ZPage } from '../../kube/zpages.ts';
import { contentType, metricsText } from '../../metrics/metrics.ts';
import type { MetricsApi } from '../metrics-server/metrics-api.ts';
import { checkOffered, representationOfError, type Views, wantsPretty } from './negotiate.ts';
import {
  type ApiRequest,
  checkRoute,
  isAstray,
  isWatchPath,
  queryOf,
  readRequest,
  type ResourcePath,
  subresourceOf,
  verbOf,
  verbOfMethod,
} from '../request/request.ts';
import type { Entrance } from '../request/handler.ts';
import { noSniff } from '../request/headers.ts';
import type { Upgrading } from '../request/upgrading.ts';
import { warningsOf } from './exchange.ts';
import type { ResourceApi } from './handlers/resource-api.ts';
import { answerProfiles } from './profiles.ts';
import type { Scales } from './handlers/scales.ts';
import type { Subresources } from './handlers/subresources.ts';
import { answerComponents, answerReview, type TransientDeps } from './handlers/transient.ts';
import { sendError, sendText, warnOf } from './respond.ts';
import { debugPaths, rootPaths } from './root-paths.ts';
import { sendZPage } from './zpages.ts';
import {
  badRequest,
  methodNotAllowed,
  noSuchResource,
  notFound,
  StatusError,
} from '../../apimachinery/status-error.ts';

export interface RouterDeps extends FilterDeps, TransientDeps {
  readonly logger: Logger;
  readonly authenticator: Authenticator;
  readonly authorizer: Authorizer;
  readonly resources: ResourceApi;
  readonly customs: CustomResources;
  readonly scales: Scales;
  readonly subresources: Subresources;
  readonly signer: TokenSigner;
  /** `metrics.k8s.io`, loaded on first use; absent: not served. */
  readonly metrics?: () => Promise<Pick<MetricsApi, 'handle'>>;
  readonly clusterTrustBundles?: boolean;
  readonly aggregatedDiscovery: boolean;
  /** Settings by flag, for `/flagz`. */
  readonly flags: Readonly<Record<string, string>>;
  /** What the answers of health checks depend on. */
  readonly vitals: Vitals;
  /** Returns the metric families of `/metrics`. */
  readonly families: () => readonly MetricFamily[];
}

const plain = 'text/plain; charset=utf-8';

/** Router answers every request: after the filters, by path. */
export class Router {
  readonly #deps: RouterDeps;
  /** Built-in kinds that the server stores. */
  readonly #builtIn: readonly Kind[];
  #current: ServedKinds | undefined;
  readonly #since: number;
  readonly #checks: Readonly<Record<HealthRoot, readonly HealthCheck[]>>;
  readonly #enter: Entrance;
  readonly #discoveryViews: Views;

  constructor(deps: RouterDeps) {
    this.#deps = deps;
    this.#since = deps.clock.now();
    this.#discoveryViews = deps.aggregatedDiscovery ? ['APIGroupDiscoveryList'] : [];
    this.#checks = healthChecks(deps.vitals);
    this.#enter = filterChain(deps, (request, response) => this.#route(request, response));
    this.#builtIn = deps.clusterTrustBundles ? [...kinds, ...trustBundleKinds] : kinds;
  }

  /** The kinds that are served; the same lists as long as no definition changes what it declares. */
  get #served(): ServedKinds {
    const { customs, metrics } = this.#deps;
    const custom = customs.kinds;
    if (this.#current?.custom === custom) return this.#current;
    const api = custom.length > 0 ? [...this.#builtIn, ...custom] : this.#builtIn;
    this.#current = { custom, api, all: metrics ? [...api, ...metricsKinds] : api };
    return this.#current;
  }

  get #kinds(): readonly Kind[] {
    return this.#served.all;
  }

  /** @param head the bytes after an upgrade request that Node no longer handles; absent for others */
  async handle(raw: IncomingMessage, response: ServerResponse, head?: Buffer): Promise<void> {
    try {
      const request = readRequest(raw, (...place) => this.#deps.customs.find(...place));
      await this.#enter(head ? { ...request, upgrading: upgradeOf(raw, response, head) } : request, response);
    } catch (reason) {
      await this.#fail(raw, response, reason);
    }
  }

  async #fail(raw: IncomingMessage, response: ServerResponse, reason: unknown): Promise<void> {
    const error = this.#asStatus(reason);
    const warnings = warningsOf.get(error);
    const pretty = wantsPretty(queryOf(raw.url ?? ''), raw.headers['user-agent']);
    const representation = representationOfError(raw.headers.accept, pretty);
    await sendError(raw, response, error, { representation, ...(warnings && { extras: { warnings } }) });
    if (!raw.readableEnded) raw.resume();
  }

  #asStatus(reason: unknown): StatusError {
    if (reason instanceof StatusError) return reason;
    if (isTooDeep(reason))
      return badRequest('the request is nested too deeply: the server reads some thousand levels');
    this.#deps.logger.error('request failed with an internal error', { err: reason });
    return new StatusError(500, 'InternalError', 'Internal error occurred', { details: {} });
  }

  async #route(request: ApiRequest, response: ServerResponse): Promise<void> {
    const { target, raw } = request;
    if (request.method !== 'GET' && isWatchPath(raw.url ?? ''))
      throw target?.kind && target.subresource === '' ? methodNotAllowed() : noSuchResource();
    if (target) return this.#resource(request, response, target);
    return isAstray(request.path) ? notFoundText(request, response) : this.#other(request, response);
  }

  async #resource(request: ApiRequest, response: ServerResponse, target: ResourcePath): Promise<void> {
    const { kind } = target;
    if (!kind || !this.#kinds.includes(kind)) return this.#unserved(request, response, target);
    checkRoute(request.method, target, kind);
    warnOfKind(request, target, kind);
    if (request.method === 'HEAD' && target.subresource !== 'proxy') throw methodNotAllowed();
    if (target.subresource !== '') return this.#subresource(request, response, target, kind);
    if (kind.storageHash === undefined) return this.#transient(request, response, target, kind);
    await this.#deps.resources.handle(request, response, target, kind);
  }

  /** Answers requests for kinds that this server does not store: metrics, and unknown kinds. */
  async #unserved(request: ApiRequest, response: ServerResponse, target: ResourcePath): Promise<void> {
    const { metrics } = this.#deps;
    if (metrics && target.group === metricsKinds[0]?.group)
      return (await metrics()).handle(request, response, target);
    const isKnown = target.isRouted && (target.group === '' || isGroup(this.#kinds, target.group));
    if (!isKnown) return notFoundText(request, response);
    throw noSuchResource();
  }

  async #subresource(
    request: ApiRequest,
    response: ServerResponse,
    target: ResourcePath,
    kind: Kind,
  ): Promise<void> {
    const sub = subresourceOf(target);
    if (!sub && kind.custom) throw notFound({ group: kind.group, kind: kind.resource, name: target.name });
    if (!sub) throw noSuchResource();
    if (target.name === '' && sub.verbs.includes(verbOfMethod(request.method)))
      throw badRequest('name must be provided');
    if (sub.name === 'scale') return this.#deps.scales.handle({ request, response, target, kind });
    const handler = kind.custom ? undefined : this.#deps.subresources.handler(kind.resource, sub.name);
    if (handler) return handler({ request, response, target, kind });
    if (!sub.verbs.includes(verbOfMethod(request.method))) throw methodNotAllowed();
    await this.#deps.resources.handle(request, response, target, kind);
  }

  /** Answers requests for kinds that are not stored. */
  async #transient(
    request: ApiRequest,
    response: ServerResponse,
    target: ResourcePath,
    kind: Kind,
  ): Promise<void> {
    const call = { request, response, target, kind };
    if (kind.kind === 'ComponentStatus') return answerComponents(call);
    if (kind.kind !== 'Binding') return answerReview(call, this.#deps);
    if (request.method !== 'POST' || target.name !== '') throw methodNotAllowed();
    return this.#deps.subresources.createBinding(call);
  }

  async #other(request: ApiRequest, response: ServerResponse): Promise<void> {
    const { path } = request;
    const health = healthPath(path);
    if (health) return this.#health(request, response, health);
    const parts = path.split('/').filter(Boolean);
    if (parts[0] === 'api' || parts[0] === 'apis')
      return discovery(request, response, parts, { kinds: this.#kinds, views: this.#discoveryViews });
    if (parts[0] === 'openapi') {
      const { customs } = this.#deps;
      const described = { kinds: this.#builtIn, customs: customs.described, since: this.#since };
      return openapi(request, response, parts, described);
    }
    if (documents.test(path)) return this.#document(request, response);
    if (/^\/debug\/pprof(\/|$)/.test(path)) return answerProfiles(request, response);
    const page = this.#page(path);
    if (page) return sendZPage(request, response, page);
    const text = this.#text(path);
    if (text) return sendText(request.raw, response, { status: 200, ...text });
    return notFoundText(request, response);
  }

  /** Returns `/flagz` and `/statusz`; undefined for other paths. */
  #page(path: string): ZPage | undefined {
    if (path === '/flagz') return flagzPage(component, this.#deps.flags);
    if (path !== '/statusz') return undefined;
    const program = {
      startedAt: this.#since,
      runtimeVersion: `node${process.versions.node}`,
      version: '1.36.2',
    };
    return statuszPage(component, program, debugPaths, this.#deps.clock.now());
  }

  /** Returns `/` and `/metrics`; undefined for other paths. */
  #text(path: string): { readonly type: string; readonly text: string } | undefined {
    if (path === '/metrics') return { type: contentType, text: metricsText(this.#deps.families()) };
    if (path !== '/' && path !== '/index.html') return undefined;
    return {
      type: 'application/json',
      text: JSON.stringify({ paths: rootPaths(this.#kinds, this.#checks) }, null, 2),
    };
  }

  /** Answers requests for documents; other paths below them are not found. */
  async #document(request: ApiRequest, response: ServerResponse): Promise<void> {
    const path = request.path.replace(/\/+$/, '');
    if (path === '/version') {
      readOnly(request, ['application/json']);
      return sendDocument(request, response, JSON.stringify(versionInfo, null, 2));
    }
    if (path === '/openid/v1/jwks') return this.#keySet(request, response);
    if (path !== '/.well-known/openid-configuration') throw noSuchResource();
    const host = request.raw.headers.host ?? 'localhost';
    return sendDocument(request, response, JSON.stringify(openIdConfiguration(host, this.#deps.signer)), {
      'Cache-Control': 'public, max-age=3600',
    });
  }

  async #keySet(request: ApiRequest, response: ServerResponse): Promise<void> {
    readOnly(request);
    checkOffered(request.raw.headers.accept, ['application/jwk-set+json']);
    await sendText(request.raw, response, {
      status: 200,
      type: 'application/jwk-set+json',
      text: JSON.stringify(this.#deps.signer.keySet()),
      extras: { headers: { 'Cache-Control': 'public, max-age=3600' } },
    });
  }

  async #health(
    request: ApiRequest,
    response: ServerResponse,
    { root, check }: NonNullable<ReturnType<typeof healthPath>>,
  ): Promise<void> {
    const checks = this.#checks[root];
    const found =
      check === undefined ? runHealthChecks(root, checks, request.query) : runHealthCheck(checks, check);
    if (!found) return notFoundText(request, response);
    const isPlain = check === undefined || !found.isHealthy;
    await sendText(request.raw, response, {
      status: found.isHealthy ? 200 : 500,
      type: plain,
      text: found.text,
      extras: { headers: isPlain ? noSniff : {} },
    });
  }
}

/** Kinds that are served as long as the custom ones stay the same. */
interface ServedKinds {
  readonly custom: readonly Kind[];
  /** Kinds that the server stores. */
  readonly api: readonly Kind[];
  /** Kinds that discovery lists. */
  readonly all: readonly Kind[];
}

/** Whether something ran out of stack: only what a request holds nests so deep. */
const isTooDeep = (reason: unknown): boolean =>
  reason instanceof RangeError && reason.message.includes('call stack');

const upgradeOf = (incoming: IncomingMessage, response: ServerResponse, head: Buffer): Upgrading => ({
  incoming,
  socket: incoming.socket,
  head,
  response,
});

/** Name of this component on its pages. */
const component = 'apiserver';
const documents = /^\/(version|\.well-known\/openid-configuration|openid\/v1\/jwks)(\/|$)/;

/** Adds the deprecation warning of a kind. */
function warnOfKind({ method, raw }: ApiRequest, target: ResourcePath, kind: Kind): void {
  const warning = kind.deprecation ?? deprecatedKinds[`${groupVersionOf(kind)} ${kind.kind}`];
  if (warning === undefined) return;
  const verbs = target.subresource === '' ? kind.verbs : subresourceOf(target)?.verbs;
  if (verbs?.includes(verbOf(method, target, new URLSearchParams()))) warnOf(raw, warning);
}

/** Deprecated kinds. */
const deprecatedKinds: Readonly<Record<string, string>> = tableOf({
  'v1 ComponentStatus': 'v1 ComponentStatus is deprecated in v1.19+',
  'v1 Endpoints': 'v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice',
});

const openIdConfiguration = (
  host: string,
  { issuer, algorithms }: Pick<TokenSigner, 'issuer' | 'algorithms'>,
): JsonObject => ({
  issuer,
  jwks_uri: `https://${host}/openid/v1/jwks`,
  response_types_supported: ['id_token'],
  subject_types_supported: ['public'],
  id_token_signing_alg_values_supported: algorithms,
});
