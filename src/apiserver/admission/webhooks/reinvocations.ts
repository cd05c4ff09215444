import { type JsonObject, sameJson } from '../../../apimachinery/json.ts';
import type { Webhook } from './webhook.ts';

/** Reinvocations decides, over the two rounds of one request, which webhooks are called a second time. Follows apiserver `webhookReinvokeContext`. */
export class Reinvocations {
  /** Webhooks that may be called again after a later change. */
  readonly #invoked = new Set<string>();
  readonly #due = new Set<string>();
  #output: JsonObject | undefined;

  /** Begins the second round: in-tree plug-ins may have changed what the webhooks left. */
  again(object: JsonObject | undefined): void {
    if (!sameJson(this.#output, object)) this.changed();
  }

  /** True in the second round for a webhook that is to be called again. */
  isDue({ uid }: Pick<Webhook, 'uid'>): boolean {
    return this.#due.has(uid);
  }

  /** Notes a change of the object: webhooks that were called before it are due. */
  changed(): void {
    for (const uid of this.#invoked) this.#due.add(uid);
    this.#invoked.clear();
  }

  /** Notes a call. */
  called({ uid, reinvocable }: Pick<Webhook, 'uid' | 'reinvocable'>): void {
    if (reinvocable) this.#invoked.add(uid);
  }

  /** Ends a round. */
  end(object: JsonObject | undefined): void {
    this.#output = object;
  }
}
