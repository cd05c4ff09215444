/**
 * Human-readable scenarios: a text file whose head names the machine that it drives and the rules that it shows, followed by commands (`>
 * …`), each with the machine's whole output. The runner compares everything; `UPDATE=1` rewrites the file with the current output, for
 * review.
 */
export interface Scenario {
  /** The comment lines at the top, unchanged. */
  readonly head: readonly string[];
  /** The machine, from the line `machine: …` of the head. */
  readonly machine: string;
  readonly steps: readonly { readonly notes: readonly string[]; readonly command: string; readonly output: string }[];
}

/** Executes commands and returns their output. */
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

/** Returns the scenario with the current output of `machine`. */
export async function play({ head, steps }: Scenario, machine: Machine): Promise<string> {
  const blocks = [head.join('\n')];
  for (const { notes, command } of steps) {
    const output = await machine.perform(command);
    blocks.push([...notes, `> ${command}`, ...output.map((line) => `  ${line}`)].join('\n'));
  }
  return `${blocks.join('\n\n')}\n`;
}
