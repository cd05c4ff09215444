import { messageOf } from '../base/errors.ts';
import { type AddressSettings, nodeAddress } from './setters/addresses.ts';
import { pressureCondition } from './setters/conditions.ts';
import { images, type NodeImage } from './setters/images.ts';
import { podCidrs } from './setters/pod-cidrs.ts';
import { machineInfo, type MachineSettings } from './setters/machine.ts';
import {
  daemonEndpoints,
  declaredFeatures,
  type HandlerFeatures,
  type RuntimeFeatures,
  nodeFeatures,
  runtimeHandlers,
  type VersionSettings,
  versionInfo,
} from './setters/runtime.ts';
import type { NodeStatusSetter } from './setters/setter.ts';

/** Sources of a node's status; functions are called in each round. */
export interface NodeStatusSources {
  readonly addresses: AddressSettings;
  readonly machine: () => MachineSettings;
  readonly versions: () => VersionSettings;
  /** Returns the agent's HTTPS port; 0: none. */
  readonly port: () => number;
  /** Returns the images, largest first. */
  readonly images?: () => Promise<readonly NodeImage[]>;
  /** Maximum number of images in the status; -1: all. Default 50 (kubelet nodeStatusMaxImages). */
  readonly maxImages?: number;
  readonly handlers?: () => readonly HandlerFeatures[];
  readonly features?: () => RuntimeFeatures | undefined;
  readonly declaredFeatures?: readonly string[];
  /** Called with the node's pod CIDRs when they change (kubelet `updatePodCIDR`). */
  readonly podCidrs?: (cidrs: string) => Promise<void>;
  readonly pressure?: (kind: 'memory' | 'disk' | 'pid') => boolean;
}

/**
 * Returns the setters of every part of the status except Ready, in the kubelet's order (kubelet `defaultNodeStatusFuncs`).
 *
 * @example
 * const setters = nodeStatusSetters(sources);
 */
export function nodeStatusSetters(sources: NodeStatusSources): readonly NodeStatusSetter[] {
  const { pressure = () => false, maxImages = 50 } = sources;
  return [
    ...(sources.podCidrs ? [podCidrs(sources.podCidrs)] : []),
    (node) => nodeAddress(node, sources.addresses),
    (node) => machineInfo(node, sources.machine()),
    (node) => versionInfo(node, sources.versions()),
    (node) => daemonEndpoints(node, sources.port()),
    async (node) => {
      if (!sources.images) return { node };
      const found = await sources.images().catch((reason: unknown) => new Error(messageOf(reason)));
      return images(node, found, maxImages);
    },
    (node) => (sources.handlers ? runtimeHandlers(node, sources.handlers()) : { node }),
    (node) => nodeFeatures(node, sources.features?.()),
    (node) => (sources.declaredFeatures ? declaredFeatures(node, sources.declaredFeatures) : { node }),
    (node, now) => pressureCondition(node, now, 'memory', pressure('memory')),
    (node, now) => pressureCondition(node, now, 'disk', pressure('disk')),
    (node, now) => pressureCondition(node, now, 'pid', pressure('pid')),
  ];
}
