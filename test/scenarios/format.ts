/**
 * Scenarios for people: a text file whose head says which machine it drives and which rules it shows, then commands (`> …`), each with
 * everything that it makes the machine print. The runner compares the whole; `UPDATE=1` writes down what is printed now, to be read
 * and judged in review.
 */
export interface Scenario {
  /** The comment lines on top, as they stand. */
  readonly head: readonly string[];
  /** From the head's line `machine: …`. */
  readonly machine: string;
  readonly steps: readonly { readonly notes: readonly string[]; readonly command: string; readonly output: string }[];
}

/** Takes commands and answers with what happened. */
export interface Machine {
  perform(command: string): Promise<readonly string[]>;
}

/** @throws {Error} naming what is missing */
export function parseScenario(text: string): Scenario {
  const [first = '', ...blocks] = text.trim().split(/\n\n+/);
  const head = first.split('\n');
  const machine = head.map((line) => /^# machine: (.+)$/.exec(line)?.[1]).find(Boolean);
  if (machine === undefined) throw new Error('the head has no line "# machine: NAME"');
  if (!head.some((line) => /^# rules: R\d+/.test(line))) throw new Error('the head has no line "# rules: R…"');
  const steps = blocks.map((block) => {
    const lines = block.split('\n');
    const at = lines.findIndex((line) => line.startsWith('> '));
    const command = lines[at]?.slice(2);
    if (command === undefined) throw new Error(`no command ("> …") in:\n${block}`);
    return { notes: lines.slice(0, at), command, output: lines.slice(at + 1).join('\n') };
  });
  return { head, machine, steps };
}

/** The scenario with what `machine` prints now. */
export async function play({ head, steps }: Scenario, machine: Machine): Promise<string> {
  const blocks = [head.join('\n')];
  for (const { notes, command } of steps) {
    const output = await machine.perform(command);
    blocks.push([...notes, `> ${command}`, ...output.map((line) => `  ${line}`)].join('\n'));
  }
  return `${blocks.join('\n\n')}\n`;
}
