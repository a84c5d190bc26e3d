# Reads a list of sources: see include_order.sh.
#
# A unit is a header with the source of its name, or either alone; "circle" means units or folders each of which can be
# reached from the others by includes.

BEGIN {
  # The floors, lowest first. A folder belongs to the longest that its path begins with, and may include from its own and
  # those before it, but for what `never` says.
  floors = split("files autograd/kernels autograd/tensor autograd/random autograd/graph autograd/engine autograd/ops " \
                 "autograd/reference autograd/functional autograd/gradcheck autograd/gradcheck/cases nn models data train cli annexes/fast annexes/pages annexes/layers annexes/mpi annexes/formats annexes/teach annexes/remote annexes/new annexes/bench " \
                 "annexes/sweep annexes/cases python", floor)
  for (i = 1; i <= floors; ++i) rank[floor[i]] = i
  never["data"] = " nn models "
  only["autograd", "files"] = "files/error.hpp"  # a library of tensors reads no files
}

function complain(where, why) {
  print where ": " why
  bad = 1
}

function folder_of(path) {
  sub(/\/[^\/]*$/, "", path)
  return path
}

function unit_of(path) {
  sub(/\.[a-z]*$/, "", path)
  return path
}

function floor_of(path, f) {
  for (f = folder_of(path); !(f in rank) && f ~ /\//;) f = folder_of(f)
  return f in rank ? f : ""
}

function room_of(path) {
  sub(/\/.*/, "", path)
  return path
}

{ files[++count] = $0 }
$0 ~ /\.[hc]pp$/ { exists[$0] = 1 }

function read_includes(file, line, number, name) {
  for (number = 1; (getline line < file) > 0; ++number) {
    if (line !~ /^[ \t]*#[ \t]*include/) continue
    name = line
    sub(/^[^<"]*[<"]/, "", name)
    sub(/[>"].*/, "", name)
    look_at(file, name, file ":" number ": " line)
  }
  close(file)
}

function look_at(file, name, where, from, to, path, is_header) {
  is_header = file ~ /\.hpp$/
  if (name ~ /\.\.\//) complain(where, "an include is written gradus/<room>/<file>, without ..")
  if (name ~ /^(cblas|openblas_config)\.h$/ && (is_header || file !~ /^autograd\/kernels\//))
    complain(where, "BLAS belongs in autograd/kernels/*.cpp")
  if (name ~ /^nlohmann\// && is_header) complain(where, "nlohmann-json belongs in .cpp files")
  if (name ~ /^CLI\// && file !~ /^(cli|annexes\/[a-z]+\/verbs)\//) complain(where, "CLI11 belongs to the command line")
  if (name ~ /^gradus\/models\// && file ~ /^train\// && file !~ /^train\/(decoder|text_scores|train_config|settings|train_json|memory)\./)
    complain(where, "train/ trains any model; only decoder, text_scores, memory and the settings of `gradus train` know the decoder")
  if (name ~ /^pybind11\// && file !~ /^python\//) complain(where, "pybind11 belongs to the Python package")
  if (name ~ /^catch/) complain(where, "Catch2 belongs in tests")
  if (name !~ /^gradus\//) return

  path = substr(name, 8)
  from = floor_of(file)
  to = floor_of(path)
  if (to == "" || from == "") return complain(where, "no floor is called so")
  if (rank[to] > rank[from]) complain(where, from " stands below " to)
  if (index(never[from], " " room_of(to) " ")) complain(where, from " does without " to)
  if ((room_of(from), to) in only && only[room_of(from), to] != path)
    complain(where, from " may include only " only[room_of(from), to] " of " to)
  add_edge("unit", unit_of(file), unit_of(path))
  add_edge("folder", folder_of(file), folder_of(path))
}

# -- graphs: `kind` tells units from folders

function add_edge(kind, from, to) {
  if (from == to || (kind, from, to) in edge) return
  edge[kind, from, to] = 1
  next_of[kind, from] = next_of[kind, from] " " to
}

# Fills reached[] with all that `from` leads to.
function reach(kind, from, stack, top, at, n, i, list) {
  split("", reached)
  stack[top = 1] = from
  while (top > 0) {
    at = stack[top--]
    n = split(next_of[kind, at], list, " ")
    for (i = 1; i <= n; ++i)
      if (!(list[i] in reached)) {
        reached[list[i]] = 1
        stack[++top] = list[i]
      }
  }
}

# Sorted by name, as the files came. Fills circle[node] with the nodes of its circle.
function find_circles(kind, nodes, n, i, j) {
  for (i = 1; i <= n; ++i) {
    reach(kind, nodes[i])
    for (j = 1; j <= n; ++j)
      if (nodes[j] in reached) leads[kind, nodes[i], nodes[j]] = 1
  }
  for (i = 1; i <= n; ++i) {
    if (!((kind, nodes[i], nodes[i]) in leads)) continue
    circle[nodes[i]] = ""
    for (j = 1; j <= n; ++j)
      if ((kind, nodes[i], nodes[j]) in leads && (kind, nodes[j], nodes[i]) in leads)
        circle[nodes[i]] = circle[nodes[i]] (circle[nodes[i]] == "" ? "" : " ") nodes[j]
  }
}

function check_circles(kind, nodes, n, i, members) {
  split("", circle)
  find_circles(kind, nodes, n)
  for (i = 1; i <= n; ++i) {
    if (!(nodes[i] in circle)) continue
    members = circle[nodes[i]]
    if ((kind, members) in seen) continue
    seen[kind, members] = 1
    complain(nodes[i], kind "s that include each other: " members)
  }
}

# -- the map: each folder, and the folders that it includes but that no other of them includes for it

function leads_one_way(from, to) { return ("folder", from, to) in leads && !(("folder", to, from) in leads) }

function print_map(nodes, n, done, left, i, j, k, text, ready, best, pad) {
  for (left = n; left > 0; --left) {
    best = 0
    for (i = 1; i <= n; ++i) {
      if (i in done) continue
      ready = 1
      for (j = 1; j <= n; ++j)
        if (!(j in done) && leads_one_way(nodes[i], nodes[j])) ready = 0
      if (ready && (!best || rank[floor_of(nodes[i] "/")] < rank[floor_of(nodes[best] "/")])) best = i
    }
    done[best] = 1
    text = ""
    for (j = 1; j <= n; ++j) {
      if (!(("folder", nodes[best], nodes[j]) in edge)) continue
      for (k = 1; k <= n; ++k)
        if (k != j && ("folder", nodes[best], nodes[k]) in edge && leads_one_way(nodes[k], nodes[j])) break
      if (k > n) text = text (text == "" ? "" : ", ") nodes[j]
    }
    pad = sprintf("%-33s", nodes[best])
    print text == "" ? nodes[best] : pad "-> " text
  }
}

END {
  for (i = 1; i <= count; ++i) {
    file = files[i]
    if (!(("unit", unit_of(file)) in known)) units[++unit_count] = unit_of(file)
    if (!(("folder", folder_of(file)) in known)) folders[++folder_count] = folder_of(file)
    known["unit", unit_of(file)] = known["folder", folder_of(file)] = 1
    read_includes(file)
  }
  check_circles("unit", units, unit_count)
  check_circles("folder", folders, folder_count)
  if (map && !bad) print_map(folders, folder_count)
  exit bad
}
