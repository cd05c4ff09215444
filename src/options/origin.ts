import type { Position } from '../go/yaml/document.ts';
import type { SettingFiles } from './files.ts';
import type { FlagValue } from './flags.ts';

/** Origin of a setting. */
export type Origin =
  | { readonly from: 'default' }
  | ({ readonly from: 'file'; readonly file: string } & Partial<Position>)
  | { readonly from: 'flag'; readonly flag: string }
  | { readonly from: 'env'; readonly variable: string };

/** Sources of settings. */
export interface OptionSources extends SettingFiles {
  /** By the flag's name, in dashes or camel case. */
  readonly flags?: Readonly<Record<string, FlagValue | undefined>>;
  /** Path of a KubeletConfiguration, if `--config` is not set. */
  readonly configFile?: string;
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** The command's own flags, without dashes, for suggestions. */
  readonly ownFlags?: readonly string[];
  /** Name of this machine, the default name of the Node. */
  readonly hostname?: string;
}

/** Returns the origin of a setting: its own, or that of a parent. */
export function originOf(path: string, origins: ReadonlyMap<string, Origin>): Origin {
  for (let at = path; at !== ''; at = at.slice(0, Math.max(at.lastIndexOf('.'), 0))) {
    const origin = origins.get(at);
    if (origin) return origin;
  }
  return { from: 'default' };
}
