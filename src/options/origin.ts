import type { Position } from '../go/yaml/document.ts';
import type { SettingFiles } from './files.ts';
import type { FlagValue } from './flags.ts';

/** Where a setting came from. */
export type Origin =
  | { readonly from: 'default' }
  | ({ readonly from: 'file'; readonly file: string } & Partial<Position>)
  | { readonly from: 'flag'; readonly flag: string }
  | { readonly from: 'env'; readonly variable: string };

/** Where settings are taken from. */
export interface OptionSources extends SettingFiles {
  /** By the flag's name, with dashes or in camel case. */
  readonly flags?: Readonly<Record<string, FlagValue | undefined>>;
  /** A KubeletConfiguration; `--config` names it otherwise. */
  readonly configFile?: string;
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Flags that are no settings, without dashes, for suggestions. */
  readonly ownFlags?: readonly string[];
  /** Name of this machine, for the Node's. */
  readonly hostname?: string;
}

/** The origin of a setting: its own, or that of what it is part of. */
export function originOf(path: string, origins: ReadonlyMap<string, Origin>): Origin {
  for (let at = path; at !== ''; at = at.slice(0, Math.max(at.lastIndexOf('.'), 0))) {
    const origin = origins.get(at);
    if (origin) return origin;
  }
  return { from: 'default' };
}
