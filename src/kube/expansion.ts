import { AgentError } from '../base/errors.ts';

type Lookup = (name: string) => string | undefined;

/**
 * Maximum number of characters that expansions may produce. Values that refer to values can double with each step, so that a small pod
 * would exhaust the memory; Linux accepts neither a word above 128 KiB nor arguments and environment above 6 MiB.
 */
export const mostExpanded: number = 8 * 1024 * 1024;

const tooLong = (): AgentError =>
  new AgentError(
    'invalid_argument',
    `the variables make more than ${mostExpanded} characters of it, which no program can be started with`,
  );

/**
 * Replaces `$(NAME)` with the value from `lookup`; an unknown name stays unchanged, `$$` becomes `$`, and an unclosed `$(` is copied.
 * A name ends at the first `)`. Follows kubelet `expansion.Expand` (third_party/forked/golang/expansion).
 *
 * @throws {AgentError} `invalid_argument` when the result is longer than {@link mostExpanded}
 */
export function expand(text: string, lookup: Lookup): string {
  const lastClose = text.lastIndexOf(')');
  let out = '';
  let at = 0;
  for (;;) {
    const dollar = text.indexOf('$', at);
    if (dollar < 0 || dollar + 1 >= text.length) return out + text.slice(at);
    out += text.slice(at, dollar);
    const isOpen = text[dollar + 1] === '(' && dollar + 2 <= lastClose;
    if (text[dollar + 1] === '$') {
      out += '$';
      at = dollar + 2;
    } else if (isOpen) {
      const close = text.indexOf(')', dollar + 2);
      const name = text.slice(dollar + 2, close);
      out += lookup(name) ?? `$(${name})`;
      if (out.length > mostExpanded && out.length > text.length) throw tooLong();
      at = close + 1;
    } else {
      out += text.slice(dollar, dollar + 2);
      at = dollar + 2;
    }
  }
}

/** {@link expand} for several texts with a common limit. @throws {AgentError} `invalid_argument` */
export function expandAll(texts: readonly string[], lookup: Lookup): readonly string[] {
  const budget = new ExpansionBudget();
  return texts.map((value) => budget.spend(expand(value, lookup), { value }));
}

/** ExpansionBudget limits the total length of the expansions of one environment or command. */
export class ExpansionBudget {
  #left = mostExpanded;

  /**
   * @param of the expanded value; without `value`, the text itself counts
   * @returns the expanded text
   * @throws {AgentError} `invalid_argument` when the total exceeds {@link mostExpanded}
   */
  spend(expanded: string, { value = expanded }: { readonly value?: string }): string {
    this.#left -= Math.max(0, expanded.length - value.length);
    if (this.#left < 0) throw tooLong();
    return expanded;
  }
}
