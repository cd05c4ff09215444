import { join, posix } from 'node:path';
import { AgentError } from '../../base/errors.ts';
import type {
  ContainerConfig,
  LinuxContainerSecurityContext,
  PodSandboxConfig,
} from '../../provider/cri-messages.ts';
import { setprivWords, userOf } from '../../processes/user.ts';
import { findImage, type HostImage } from './images.ts';
import { programPath } from '../../processes/host-programs.ts';
import { containerIdVariable, type LaunchPlan } from '../../processes/supervisor-script.ts';

/** Host settings of a launch. */
export interface LaunchHost {
  readonly images: ReadonlyMap<string, HostImage>;
  readonly path?: string;
  /** The agent's user id; only root may change users. */
  readonly uid: number;
  readonly gid: number;
  /** Path of util-linux's `setpriv`; absent: users cannot be changed. */
  readonly setpriv?: string;
}

/** A container to launch. */
export interface LaunchRequest {
  readonly id: string;
  readonly config: ContainerConfig;
  readonly sandbox: PodSandboxConfig;
  /** Directory that serves as the container's root file system. */
  readonly root: string;
  readonly workingDir: string;
}

/**
 * Returns how to launch a container. @throws {AgentError} `invalid_argument` when there is no command and the image has no host program;
 * `failed_precondition` when the agent cannot run it as its user
 */
export function planLaunch(request: LaunchRequest, host: LaunchHost): LaunchPlan {
  return {
    argv: commandOf(request.config, host.images),
    env: environmentOf(request, host),
    workingDir: request.workingDir,
    root: request.root,
    user: userOf(request.config.linux?.securityContext ?? {}, host),
    prefix: privilegesOf(request.config.linux?.securityContext, host),
    stdin: request.config.stdin ?? false,
    tty: request.config.tty ?? false,
  };
}

/** Returns the command as for an image config: `command` replaces the entrypoint and drops the image's cmd. */
export function commandOf(
  config: ContainerConfig,
  images: ReadonlyMap<string, HostImage>,
): readonly string[] {
  const { command = [], args = [] } = config;
  if (command.length > 0) return [...command, ...args];
  const reference = imageNameOf(config);
  const { entrypoint = [], cmd = [], ...rest } = findImage(images, reference) ?? { unknown: true };
  const words = [...entrypoint, ...(args.length > 0 ? args : cmd)];
  if (!('unknown' in rest) && words.length > 0) return words;
  throw new AgentError('invalid_argument', noCommandMessage(config.metadata?.name ?? '', reference, images));
}

/** Returns the error message for a container without a command whose image has no host program. */
export function noCommandMessage(
  container: string,
  image: string,
  images: ReadonlyMap<string, HostImage>,
): string {
  const imageNames = [...images.keys()].sort().join(', ');
  return (
    `container "${container}" has no command and image "${image}" names no program of this host: ` +
    `set the container's command, or use an image that the process provider knows (${imageNames})`
  );
}

/** Returns the image reference that the user wrote, when the config has it. */
export function imageNameOf(config: ContainerConfig): string {
  const { userSpecifiedImage, image } = config.image ?? {};
  return userSpecifiedImage !== undefined && userSpecifiedImage !== '' ? userSpecifiedImage : (image ?? '');
}

/** Returns the name of the variable with a mount's directory on the host: for `/etc/app`, `PODTENDER_MOUNT_ETC_APP`. */
export function mountVariable(containerPath: string): string {
  return `PODTENDER_MOUNT_${containerPath
    .replace(/^\/+|\/+$/g, '')
    .replace(/[^A-Za-z0-9]+/g, '_')
    .toUpperCase()}`;
}

/**
 * Returns the environment: host variables first, so that the container's own override them; the two marks last, so that they cannot be
 * overridden.
 */
function environmentOf(request: LaunchRequest, host: LaunchHost): ReadonlyMap<string, string> {
  const { mounts = [], envs = [], tty = false } = request.config;
  const env = new Map(hostEnvironment(request, host));
  if (tty) env.set('TERM', 'xterm');
  for (const { containerPath = '', hostPath = '' } of mounts) env.set(mountVariable(containerPath), hostPath);
  for (const { key = '', value = new Uint8Array() } of envs) env.set(key, Buffer.from(value).toString());
  env.set('PODTENDER_ROOT', request.root);
  env.set(containerIdVariable, request.id);
  return env;
}

function hostEnvironment(request: LaunchRequest, host: LaunchHost): readonly (readonly [string, string])[] {
  const directories = findImage(host.images, imageNameOf(request.config))?.path ?? [];
  return [
    ['PATH', [...directories, host.path ?? programPath].join(':')],
    ['HOME', request.root],
    ['HOSTNAME', request.sandbox.hostname ?? ''],
  ];
}

/**
 * Returns the words that change user, groups and privileges before the command; empty when nothing changes. A user without a group gets
 * the group with its own number instead of root's.
 *
 * @throws {AgentError} `failed_precondition` when the agent cannot change users
 */
export function privilegesOf(
  context: LinuxContainerSecurityContext | undefined,
  host: LaunchHost,
): readonly string[] {
  if (!context) return [];
  const target = userOf(context, host);
  const changes = target.uid !== host.uid || target.gid !== host.gid;
  if (changes && host.uid !== 0) {
    throw new AgentError(
      'failed_precondition',
      `user ${target.uid}:${target.gid} needs root; the agent is ${host.uid}`,
    );
  }
  const words = [
    ...(host.uid === 0 ? setprivWords(target, host) : []),
    ...(context.noNewPrivs ? ['--no-new-privs'] : []),
    ...dropped(context.capabilities?.dropCapabilities ?? [], host),
  ];
  if (words.length === 0) return [];
  if (host.setpriv !== undefined) return [host.setpriv, ...words, '--'];
  throw new AgentError('failed_precondition', 'changing user or privileges needs setpriv (util-linux)');
}

/** Returns the `setpriv` options that drop capabilities; empty when the agent is not root and has none. */
function dropped(names: readonly string[], host: LaunchHost): readonly string[] {
  if (names.length === 0 || host.uid !== 0) return [];
  const odd = names.find((name) => !/^(?:cap_)?[a-z_]+$/i.test(name));
  if (odd !== undefined)
    throw new AgentError('invalid_argument', `unknown capability ${JSON.stringify(odd)}`);
  const list = names.map((name) => `-${name.toLowerCase().replace(/^cap_/, '')}`).join(',');
  return [`--bounding-set=${list}`, `--inh-caps=${list}`];
}

/** Returns where a container's working directory may be: in its root directory, otherwise on the host. */
export function workingDirCandidates(root: string, path: string | undefined): readonly string[] {
  const clean = posix.resolve('/', path ?? '');
  return clean === '/' ? [root] : [join(root, clean), clean];
}
