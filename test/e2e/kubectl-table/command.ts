/** A kubectl command of the table. */
export interface Command {
  /** What a user types after `kubectl`; `DIR` is the folder of the table's files. */
  readonly line: string;
  readonly input?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** The line of the output that is the result; default: the last one. */
  readonly shows?: RegExp;
  /** What is another in each run, and is written as `…`. */
  readonly hides?: RegExp;
  /** The command goes on: it is ended once it has printed this. */
  readonly until?: RegExp;
}

/** Commands of one subject, in the order in which they run. */
export interface Section {
  readonly title: string;
  readonly commands: readonly (string | Command)[];
}

export const commandOf = (command: string | Command): Command =>
  typeof command === 'string' ? { line: command } : command;

/** Splits a line into arguments; quotes keep spaces. */
export const argumentsOf = (line: string): readonly string[] =>
  [...line.matchAll(/(?:'[^']*'|"[^"]*"|[^\s'"])+/g)].map(([word]) =>
    word.replaceAll(
      /'([^']*)'|"([^"]*)"/g,
      (_all, single?: string, double?: string) => single ?? double ?? '',
    ),
  );
