# The comments of a header in the form that Doxygen looks for: // becomes ///, and behind a member, ///<.
/^ *\/\/( |$)/ {
  sub(/\/\//, index($0, "//") == behind ? "///<" : "///")
  print
  next
}
{
  behind = match($0, /[;,{})"]  *\/\/ /) ? RSTART + RLENGTH - 3 : 0
  if (behind) $0 = substr($0, 1, behind - 1) "///< " substr($0, behind + 3)
  print
}
