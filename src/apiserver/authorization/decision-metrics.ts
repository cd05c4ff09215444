import type { MetricFamily } from '../../metrics/family.ts';
import { Counter } from '../../metrics/metrics.ts';
import { type AuthorizationMode, type AuthorizationModeName, type Opinion, pass } from './mode.ts';

/** DecisionMetrics counts which authorization mode decided, under kube-apiserver's names. */
export class DecisionMetrics {
  readonly #decisions = new Counter(
    'apiserver_authorization_decisions_total',
    'Number of final decisions by the authorization mode that took them.',
  );

  /** Returns a mode whose decisions are counted; opinions that leave the decision to the next mode are not. */
  counted(type: AuthorizationModeName, mode: AuthorizationMode): AuthorizationMode {
    const name = type === 'Webhook' ? 'default' : type.toLowerCase();
    const series: { allow?: { value: number }; deny?: { value: number } } = {};
    const count = (opinion: Opinion): Opinion => {
      const { verdict } = opinion;
      if (verdict === 'none') return opinion;
      const decision = verdict === 'allow' ? 'allowed' : 'denied';
      series[verdict] ??= this.#decisions.with({ type, name, decision });
      series[verdict].value++;
      return opinion;
    };
    return {
      decide: (at) => {
        const opinion = mode.decide(at);
        return opinion instanceof Promise ? opinion.then(count) : count(opinion);
      },
      ...(mode.decideNow && { decideNow: (at) => count(mode.decideNow?.(at) ?? pass()) }),
      rules: (user, namespace) => mode.rules(user, namespace),
    };
  }

  families(): readonly MetricFamily[] {
    return [this.#decisions.collect()];
  }
}
