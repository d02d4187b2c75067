-- The words of all tools, cut and stemmed by us: the tokenizer only has to split at spaces. Always in memory; a file
-- is a copy of it. Ids and servers are blobs because a lone surrogate has no UTF-8.
pragma user_version = 3;

create table card (
  no integer primary key,
  id blob not null unique,
  identity text not null,
  server blob not null,
  -- how many words each column of `tool` has
  names integer not null,
  servers integer not null,
  descriptions integer not null,
  parameters integer not null,
  documentation integer not null,
  tags integer not null
);

create virtual table tool using fts5 (
  name, server, description, parameters, documentation, tags, tokenize = 'ascii'
);

-- The index read from its other side: each word's places, in order of `doc`.
create virtual table place using fts5vocab (tool, instance);
create virtual table term using fts5vocab (tool, row);
