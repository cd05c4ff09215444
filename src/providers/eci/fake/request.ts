/** A parameter as it was sent, with its nesting restored: lists are arrays. */
export type Sent = string | readonly Sent[] | { readonly [name: string]: Sent };

/** The parameters of a call, nested. */
export type SentParameters = Readonly<Record<string, Sent>>;

interface Branch {
  readonly children: Map<string, Branch>;
  text?: string;
}

/**
 * unflatten restores the nesting of `Container.1.EnvironmentVar.2.Key=…`. Numbered members become lists in the order of their numbers.
 */
export function unflatten(query: Iterable<readonly [string, string]>): SentParameters {
  const root: Branch = { children: new Map() };
  for (const [name, text] of query) {
    let branch = root;
    for (const part of name.split('.')) {
      const next: Branch = branch.children.get(part) ?? { children: new Map() };
      branch.children.set(part, next);
      branch = next;
    }
    branch.text = text;
  }
  return objectOf(root);
}

const objectOf = ({ children }: Branch): SentParameters =>
  Object.fromEntries([...children].map(([name, branch]) => [name, valueOf(branch)]));

function valueOf(branch: Branch): Sent {
  if (branch.children.size === 0) return branch.text ?? '';
  const names = [...branch.children.keys()];
  if (!names.every((name) => /^\d+$/.test(name))) return objectOf(branch);
  return names
    .toSorted((a, b) => Number(a) - Number(b))
    .map((name) => valueOf(branch.children.get(name) ?? { children: new Map() }));
}

/** text returns a parameter that is a text; undefined where there is none. */
export const text = (parameters: SentParameters, name: string): string | undefined => {
  const value = Object.hasOwn(parameters, name) ? parameters[name] : undefined;
  return typeof value === 'string' ? value : undefined;
};

/** list returns a parameter that is a list of objects; empty where there is none. */
export const list = (parameters: SentParameters, name: string): readonly SentParameters[] => {
  const value = Object.hasOwn(parameters, name) ? parameters[name] : undefined;
  return Array.isArray(value) ? (value as readonly SentParameters[]) : [];
};

/** FakeFault is an answer of the double that is an error. */
export class FakeFault extends Error {
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}
