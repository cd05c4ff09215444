import type { ListType, StructType } from '../field.ts';

/** Settings of `authenticationX509`. */
export const authenticationX509Type: StructType = {
  struct: 'KubeletX509Authentication',
  fields: {
    clientCAFile: {
      type: 'string',
      flag: 'client-ca-file',
      about: 'CA bundle for client certificates (PEM).',
    },
  },
};

/** Settings of `authenticationWebhook`. */
export const authenticationWebhookType: StructType = {
  struct: 'KubeletWebhookAuthentication',
  fields: {
    enabled: {
      type: 'bool',
      default: true,
      zeroIsSet: true,
      flag: 'authentication-token-webhook',
      about: 'Authenticate bearer tokens by TokenReview.',
    },
    cacheTTL: {
      type: 'duration',
      default: '2m0s',
      flag: 'authentication-token-webhook-cache-ttl',
      about: 'Cache duration of responses.',
    },
  },
};

/** Settings of `authenticationAnonymous`. */
export const authenticationAnonymousType: StructType = {
  struct: 'KubeletAnonymousAuthentication',
  fields: {
    enabled: {
      type: 'bool',
      default: false,
      zeroIsSet: true,
      flag: 'anonymous-auth',
      about: 'Allow anonymous requests, as system:anonymous.',
    },
  },
};

/** Settings of `authentication`. */
export const authenticationType: StructType = {
  struct: 'KubeletAuthentication',
  fields: {
    x509: { type: authenticationX509Type, about: 'Client certificates.' },
    webhook: { type: authenticationWebhookType, about: 'Authentication of bearer tokens.' },
    anonymous: { type: authenticationAnonymousType, about: 'Requests without credentials.' },
  },
};

/** Settings of `authorizationWebhook`. */
export const authorizationWebhookType: StructType = {
  struct: 'KubeletWebhookAuthorization',
  fields: {
    cacheAuthorizedTTL: {
      type: 'duration',
      default: '5m0s',
      flag: 'authorization-webhook-cache-authorized-ttl',
      about: 'Cache duration of allowed decisions.',
    },
    cacheUnauthorizedTTL: {
      type: 'duration',
      default: '30s',
      flag: 'authorization-webhook-cache-unauthorized-ttl',
      about: 'Cache duration of denied decisions.',
    },
  },
};

/** Settings of `authorization`. */
export const authorizationType: StructType = {
  struct: 'KubeletAuthorization',
  fields: {
    mode: {
      type: 'string',
      goType: 'v1beta1.KubeletAuthorizationMode',
      default: 'Webhook',
      flag: 'authorization-mode',
      allowed: 'AlwaysAllow, Webhook',
      about: 'Who decides.',
    },
    webhook: { type: authorizationWebhookType, about: 'Authorization by SubjectAccessReview.' },
  },
};

/** Settings of `memorySwap`. */
export const memorySwapType: StructType = {
  struct: 'MemorySwapConfiguration',
  fields: {
    swapBehavior: { type: 'string', allowed: 'LimitedSwap, NoSwap', about: 'Whether pods may use swap.' },
  },
};

/** Settings of `crashLoopBackOff`. */
export const crashLoopBackOffType: StructType = {
  struct: 'CrashLoopBackOffConfig',
  fields: {
    maxContainerRestartPeriod: {
      type: 'duration',
      default: '5m0s',
      zeroIsSet: true,
      allowed: '1s to 300s',
      about: 'Longest back-off.',
    },
  },
};

/** Settings of `userNamespaces`. */
export const userNamespacesType: StructType = {
  struct: 'UserNamespaces',
  fields: {
    idsPerPod: {
      type: 'int64',
      zeroIsSet: true,
      allowed: 'a multiple of 65536',
      about: 'Number of user IDs per pod.',
    },
  },
};

/** Settings of `tracing`. */
export const tracingType: StructType = {
  struct: 'TracingConfiguration',
  package: 'v1',
  fields: {
    endpoint: {
      type: 'string',
      zeroIsSet: true,
      allowed: 'an address with scheme dns, unix or none',
      about: 'OTLP collector.',
    },
    samplingRatePerMillion: {
      type: 'int32',
      zeroIsSet: true,
      allowed: '0 to 1000000',
      about: 'Traces per million operations.',
    },
  },
};

/** Settings of `vmodule`. */
export const vmoduleType: ListType = {
  goType: 'v1.VModuleConfiguration',
  listOf: {
    struct: 'VModuleItem',
    package: 'v1',
    fields: {
      filePattern: { type: 'string', zeroIsSet: true, about: 'Pattern of source file names.' },
      verbosity: { type: 'verbosity', zeroIsSet: true, about: 'Verbosity of these files.' },
    },
  },
};

/** Settings of `loggingText`. */
export const loggingTextType: StructType = {
  struct: 'TextOptions',
  package: 'v1',
  fields: {
    splitStream: { type: 'bool', about: 'Write info to stdout and errors to stderr.' },
    infoBufferSize: { type: 'quantity', default: '0', about: 'Buffer size for info messages.' },
  },
};

/** Settings of `loggingJson`. */
export const loggingJsonType: StructType = {
  struct: 'JSONOptions',
  package: 'v1',
  fields: {
    splitStream: { type: 'bool', about: 'Write info to stdout and errors to stderr.' },
    infoBufferSize: { type: 'quantity', default: '0', about: 'Buffer size for info messages.' },
  },
};

/** Settings of `loggingOptions`. */
export const loggingOptionsType: StructType = {
  struct: 'FormatOptions',
  package: 'v1',
  fields: {
    text: { type: loggingTextType, about: 'Options of format text.' },
    json: { type: loggingJsonType, about: 'Options of format json.' },
  },
};

/** Settings of `logging`. */
export const loggingType: StructType = {
  struct: 'LoggingConfiguration',
  package: 'v1',
  fields: {
    format: {
      type: 'string',
      default: 'text',
      flag: 'logging-format',
      allowed: 'text, json',
      about: 'Log format.',
    },
    flushFrequency: {
      type: 'duration or nanoseconds',
      default: '5s',
      flag: 'log-flush-frequency',
      about: 'Interval between flushes.',
    },
    verbosity: {
      type: 'verbosity',
      default: 0,
      zeroIsSet: true,
      flag: 'v',
      allowed: '0 or more',
      about: 'Level of detail; 0 is info.',
    },
    vmodule: { type: vmoduleType, allowed: 'only with format text', about: 'Verbosity by file pattern.' },
    options: { type: loggingOptionsType, about: 'Options by format.' },
  },
};

/** Settings of `shutdownGracePeriodByPodPriority`. */
export const shutdownGracePeriodByPodPriorityType: ListType = {
  listOf: {
    struct: 'ShutdownGracePeriodByPodPriority',
    fields: {
      priority: { type: 'int32', default: 0, zeroIsSet: true, about: 'Pods of this priority or higher.' },
      shutdownGracePeriodSeconds: {
        type: 'int64',
        default: 0,
        zeroIsSet: true,
        about: 'Their shutdown grace period, s.',
      },
    },
  },
};

/** Settings of `reservedMemory`. */
export const reservedMemoryType: ListType = {
  listOf: {
    struct: 'MemoryReservation',
    fields: {
      numaNode: { type: 'int32', default: 0, zeroIsSet: true, about: 'NUMA node.' },
      limits: { type: 'map[string]quantity', about: 'Memory and huge pages.' },
    },
  },
};

/** Settings of `registerWithTaints`. */
export const registerWithTaintsType: ListType = {
  listOf: {
    struct: 'Taint',
    package: 'v1',
    fields: {
      key: { type: 'string', default: '', zeroIsSet: true, about: 'Key.' },
      value: { type: 'string', about: 'Value.' },
      effect: {
        type: 'string',
        goType: 'v1.TaintEffect',
        default: '',
        zeroIsSet: true,
        allowed: 'NoSchedule, PreferNoSchedule, NoExecute',
        about: 'Effect.',
      },
      timeAdded: { type: 'string', zeroIsSet: true, allowed: 'unset', about: 'Not allowed here.' },
    },
  },
};
