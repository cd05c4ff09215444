import { systemClock } from '../../base/clock.ts';
import { AgentError } from '../../base/errors.ts';
import type { JsonObject } from '../../apimachinery/json.ts';
import type { Authorizer } from '../authorization/authorizer.ts';
import { AdmissionMetrics } from './admission-metrics.ts';
import { WebhookMetrics } from './webhooks/webhook-metrics.ts';
import type { WebhookDeps } from './webhooks/webhook-call.ts';
import { mutatingPolicies } from './policies/mutating-policies.ts';
import { validatingPolicies } from './policies/validating-policies.ts';
import type { Kind } from '../../apimachinery/kinds.ts';
import { mutatingWebhooks } from './webhooks/mutating-webhooks.ts';
import { validatingWebhooks } from './webhooks/validating-webhooks.ts';
import { certificateSubjectRestriction } from './certificate-subject.ts';
import { defaultIngressClass, defaultStorageClass } from './default-classes.ts';
import { defaultTolerationSeconds } from './default-toleration-seconds.ts';
import { limitRanger } from './limit-ranges.ts';
import { namespaceLifecycle } from './namespace-lifecycle.ts';
import { nodeRestriction } from './node-restriction.ts';
import type { Admissible, AdmissionPlugin, Attributes } from './plugin.ts';
import { podResizeValidator } from './resize-capacity.ts';
import { podSecurity } from './podsecurity/pod-security.ts';
import { priority } from './priority.ts';
import { resourceQuota } from './quotas.ts';
import { runtimeClass } from './runtime-class.ts';
import { serviceAccount } from './service-account.ts';
import { storageObjectInUseProtection } from './storage-protection.ts';
import { taintNodesByCondition } from './node-taints.ts';

/** What the built-in plug-ins use besides the request. */
export interface PluginDeps {
  readonly authorizer: Pick<Authorizer, 'decide' | 'decideNow'>;
  readonly webhooks: WebhookDeps;
  readonly metrics: AdmissionMetrics;
  /** Returns the served kind of an apiVersion and kind: parameters of policies are of any. */
  readonly findKind: (apiVersion: string, kind: string) => Kind | undefined;
}

/** Returns the built-in plug-ins in kube-apiserver's order (`AllOrderedPlugins`, v1.36). */
export const builtInPlugins = ({
  authorizer,
  webhooks,
  metrics,
  findKind,
}: PluginDeps): readonly AdmissionPlugin[] => [
  namespaceLifecycle,
  limitRanger,
  serviceAccount,
  nodeRestriction(authorizer),
  taintNodesByCondition,
  podSecurity,
  priority,
  defaultTolerationSeconds,
  defaultStorageClass,
  storageObjectInUseProtection,
  runtimeClass,
  certificateSubjectRestriction,
  defaultIngressClass,
  podResizeValidator,
  mutatingPolicies({ authorizer, objects: webhooks.objects, findKind, metrics }),
  mutatingWebhooks(webhooks),
  validatingPolicies({ authorizer, objects: webhooks.objects, findKind, metrics }),
  validatingWebhooks(webhooks),
  // last, so that rejected objects are not charged
  resourceQuota,
];

/** Dependencies of plug-ins that are never run. */
const inert: PluginDeps = {
  authorizer: {
    decide: () => ({ allowed: false, reason: '' }),
    decideNow: () => ({ allowed: false, reason: '' }),
  },
  findKind: () => undefined,
  metrics: new AdmissionMetrics(systemClock),
  webhooks: {
    client: { post: () => Promise.reject(new Error('no webhook is called')) },
    objects: {
      equivalents: () => [],
      read: (_kind, _part, object) => object,
      convert: (object) => Promise.resolve(object),
      served: (stored) => stored,
    },
    metrics: new WebhookMetrics(),
  },
};

/** Returns the names of the built-in plug-ins, in order. */
export const pluginNames = (): readonly string[] => builtInPlugins(inert).map(({ name }) => name);

/** @throws {AgentError} `invalid_argument` for an unknown plug-in name */
export function checkPluginNames(disabled: readonly string[]): void {
  const names = pluginNames();
  const unknown = disabled.filter((name) => !names.includes(name)).map((name) => JSON.stringify(name));
  if (unknown.length === 0) return;
  const there = names.join(', ');
  throw new AgentError(
    'invalid_argument',
    `disableAdmissionPlugins: ${unknown.join(', ')}: no such plug-in: there are ${there}`,
  );
}

/** The remaining admission steps of one write. */
export interface Admitting {
  /** Returns the object as changed by the mutating plug-ins; a promise only if one of them is asynchronous. */
  mutate(object: JsonObject | undefined): JsonObject | undefined | Promise<JsonObject | undefined>;
  /** Throws, or rejects, if a validating plug-in rejects the object. */
  validate(object: JsonObject | undefined): undefined | Promise<undefined>;
  /** Runs the effects that plug-ins registered with `onCommit`. */
  readonly commit: () => void;
}

/**
 * AdmissionChain runs every plug-in in order: first all mutating steps, then, once the object is prepared and valid, all validating
 * steps.
 */
export class AdmissionChain {
  readonly #plugins: readonly AdmissionPlugin[];
  /** Plug-ins by operation, kind and subresource. */
  readonly #chosen = new Map<string, readonly AdmissionPlugin[]>();

  readonly #metrics: AdmissionMetrics;

  constructor(
    plugins: readonly AdmissionPlugin[],
    metrics: AdmissionMetrics = new AdmissionMetrics(systemClock),
  ) {
    this.#plugins = plugins;
    this.#metrics = metrics;
  }

  /** Begins the admission of one write. */
  begin(admissible: Admissible): Admitting {
    const plugins = this.#pluginsFor(admissible);
    const { operation } = admissible;
    const metrics = this.#metrics;
    let effects: (() => void)[] = [];
    const run = { again: false, isRequested: false };
    const reinvocation = {
      get again() {
        return run.again;
      },
      request() {
        run.isRequested = true;
      },
    };
    const onCommit = (effect: () => void): void => void effects.push(effect);
    const attributesOf = (object: JsonObject | undefined): Attributes => ({
      ...admissible,
      ...(object && { object }),
      reinvocation,
      onCommit,
    });
    const pass = (object: JsonObject | undefined): JsonObject | undefined | Promise<JsonObject | undefined> =>
      inTurn(
        plugins,
        object,
        (plugin, at) =>
          plugin.admit &&
          metrics.plugin(plugin.name, 'admit', operation, () => plugin.admit?.(attributesOf(at))),
      );
    const again = (object: JsonObject | undefined): ReturnType<typeof pass> => {
      if (!run.isRequested || run.again) return object;
      run.again = true;
      effects = [];
      return pass(object);
    };
    return {
      mutate: (object) =>
        metrics.step('admit', operation, () => {
          const changed = pass(object);
          return changed instanceof Promise ? changed.then(again) : again(changed);
        }),
      validate: (object) =>
        done(
          metrics.step('validate', operation, () =>
            inTurn(plugins, object, (plugin, at) => {
              if (!plugin.validate) return undefined;
              const judge = (): ReturnType<NonNullable<AdmissionPlugin['validate']>> =>
                plugin.validate?.(attributesOf(at));
              const judged = metrics.plugin(plugin.name, 'validate', operation, judge);
              return judged instanceof Promise ? judged.then(() => undefined) : undefined;
            }),
          ),
        ),
      commit() {
        for (const effect of effects) effect();
      },
    };
  }

  #pluginsFor({ operation, kind, subresource }: Admissible): readonly AdmissionPlugin[] {
    const key = `${operation} ${kind.group}/${kind.version}/${kind.resource}/${subresource}`;
    let chosen = this.#chosen.get(key);
    if (!chosen) {
      chosen = this.#plugins.filter((plugin) => plugin.handles(operation, kind, subresource));
      this.#chosen.set(key, chosen);
    }
    return chosen;
  }
}

type Step = (
  plugin: AdmissionPlugin,
  object: JsonObject | undefined,
) => JsonObject | undefined | Promise<JsonObject | undefined>;

/**
 * Runs one step of each plug-in on the result of the previous one. Stays synchronous as long as no plug-in is asynchronous, so that such
 * writes are atomic.
 */
function inTurn(
  plugins: readonly AdmissionPlugin[],
  object: JsonObject | undefined,
  step: Step,
): JsonObject | undefined | Promise<JsonObject | undefined> {
  let at = object;
  for (const [i, plugin] of plugins.entries()) {
    const next = step(plugin, at);
    if (next instanceof Promise)
      return next.then((changed) => inTurn(plugins.slice(i + 1), changed ?? at, step));
    at = next ?? at;
  }
  return at;
}

const done = (result: unknown): undefined | Promise<undefined> =>
  result instanceof Promise ? result.then(() => undefined) : undefined;
