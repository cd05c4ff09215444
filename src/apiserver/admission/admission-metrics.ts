import { type Clock, steadyNow } from '../../base/clock.ts';
import type { MetricFamily } from '../../metrics/family.ts';
import { Counter, Histogram, type Observer } from '../../metrics/metrics.ts';
import type { MaybePromise, Operation } from './plugin.ts';

/** The two steps of admission. */
export type AdmissionStep = 'admit' | 'validate';

/** What a policy did with a request. */
export type PolicyAction = 'allow' | 'deny' | 'audit' | 'warn';

/** Why a check of a policy failed; `no_error` where it did not. */
export type PolicyFault = 'no_error' | 'compile_error' | 'invalid_error';

/** The series of a step or a plug-in; that of an outcome is there once it happened. */
interface Outcomes {
  readonly of: (isRejected: boolean) => Observer;
  admitted: Observer | undefined;
  rejected: Observer | undefined;
}

const buckets = [0.005, 0.025, 0.1, 0.5, 1, 2.5];
const policyBuckets = [0.0000005, 0.001, 0.01, 0.1, 1];

/** AdmissionMetrics measures admission under kube-apiserver's names: each step, each plug-in, and each check of a policy. */
export class AdmissionMetrics {
  readonly #steps = new Histogram(
    'apiserver_admission_step_admission_duration_seconds',
    'Time that a step of admission took, seconds.',
    buckets,
  );
  readonly #plugins = new Histogram(
    'apiserver_admission_controller_admission_duration_seconds',
    'Time that an admission plug-in took, seconds.',
    buckets,
  );
  readonly #checks = {
    validating: new Counter(
      'apiserver_validating_admission_policy_check_total',
      'Number of checks of ValidatingAdmissionPolicies by policy, binding, error and action.',
    ),
    mutating: new Counter(
      'apiserver_mutating_admission_policy_check_total',
      'Number of applications of MutatingAdmissionPolicies by policy, binding and error.',
    ),
  };
  readonly #checkTimes = {
    validating: new Histogram(
      'apiserver_validating_admission_policy_check_duration_seconds',
      'Time that checks of ValidatingAdmissionPolicies took, seconds.',
      policyBuckets,
    ),
    mutating: new Histogram(
      'apiserver_mutating_admission_policy_check_duration_seconds',
      'Time that applications of MutatingAdmissionPolicies took, seconds.',
      policyBuckets,
    ),
  };
  readonly #outcomes = new Map<string, Outcomes>();
  readonly #clock: Pick<Clock, 'now' | 'steady'>;

  constructor(clock: Pick<Clock, 'now' | 'steady'>) {
    this.#clock = clock;
  }

  /** Returns the time to measure from. */
  now(): number {
    return steadyNow(this.#clock);
  }

  /** Runs a step of admission and measures it. */
  step<T>(type: AdmissionStep, operation: Operation, act: () => MaybePromise<T>): MaybePromise<T> {
    return this.#measured(
      this.#outcomesOf(this.#steps, `${type} ${operation}`, () => ({ type, operation })),
      act,
    );
  }

  /** Runs a plug-in and measures it. */
  plugin<T>(
    name: string,
    type: AdmissionStep,
    operation: Operation,
    act: () => MaybePromise<T>,
  ): MaybePromise<T> {
    const key = `${type} ${operation} ${name}`;
    return this.#measured(
      this.#outcomesOf(this.#plugins, key, () => ({ name, type, operation })),
      act,
    );
  }

  /** Counts what a policy did with a request since a time. */
  checked(
    sort: 'validating' | 'mutating',
    check: {
      readonly policy: string;
      readonly binding: string;
      readonly fault: PolicyFault;
      readonly action: PolicyAction;
      readonly since: number;
    },
  ): void {
    const { policy, binding, fault, action, since } = check;
    const labels = {
      policy,
      policy_binding: binding,
      error_type: fault,
      ...(sort === 'validating' && { enforcement_action: action }),
    };
    this.#checks[sort].add(labels);
    this.#checkTimes[sort].observe(labels, (this.now() - since) / 1000);
  }

  #outcomesOf(histogram: Histogram, key: string, labelsOf: () => Readonly<Record<string, string>>): Outcomes {
    const found = this.#outcomes.get(key);
    if (found) return found;
    const labels = labelsOf();
    const outcomes: Outcomes = {
      of: (isRejected) => histogram.with({ ...labels, rejected: String(isRejected) }),
      admitted: undefined,
      rejected: undefined,
    };
    this.#outcomes.set(key, outcomes);
    return outcomes;
  }

  #measured<T>(outcomes: Outcomes, act: () => MaybePromise<T>): MaybePromise<T> {
    const begin = this.now();
    const end = (isRejected: boolean): void => {
      const observer = isRejected
        ? (outcomes.rejected ??= outcomes.of(true))
        : (outcomes.admitted ??= outcomes.of(false));
      observer.observe((this.now() - begin) / 1000);
    };
    let result: MaybePromise<T>;
    try {
      result = act();
    } catch (reason) {
      end(true);
      throw reason;
    }
    if (!(result instanceof Promise)) {
      end(false);
      return result;
    }
    return result.then(
      (value) => {
        end(false);
        return value;
      },
      (reason: unknown) => {
        end(true);
        throw reason;
      },
    );
  }

  families(): readonly MetricFamily[] {
    const { validating, mutating } = this.#checks;
    const times = this.#checkTimes;
    return [this.#steps, this.#plugins, validating, mutating, times.validating, times.mutating].map((one) =>
      one.collect(),
    );
  }
}
